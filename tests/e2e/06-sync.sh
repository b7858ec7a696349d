# Sync in a guarded context: the name is asked for, a wrong one does nothing, the right one lets the controller work, and
# the drift is gone.
. ./lib.sh
start 120 40
fleet checkout drifted
goto checkout
keys s
see 'guarded. Type its name: prod-eu'
see 'Cancel'
keys Enter
see 'type the name first'
type prod-e
keys Enter
see 'Type its name'
type u
see '▸ sync ◂'
keys Enter
gone 'Type its name'
fleet checkout in-sync
keys Enter
match 'in-sync +Deployment +checkout/checkout-api'
keys Q
ends 0
