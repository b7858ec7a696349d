# Revert of one field: that one goes back to Git, the other drift of the app stays.
. ./lib.sh
start 120 40
goto checkout
keys Enter
match 'drifted +Deployment +checkout/checkout-api'
keys d
see '2.14.1-hotfix'
keys u
see 'guarded. Type its name: prod-eu'
see 'checkout-api'
# what overwrites has Cancel under Enter, also once the name is typed
type prod-eu
see '▸ Cancel ◂'
keys Tab
see '▸ revert ◂'
keys Enter
gone 'Type its name'
keys Escape
match 'in-sync +Deployment +checkout/checkout-api'
match 'drifted +Deployment +checkout/checkout-worker'
keys Q
ends 0
