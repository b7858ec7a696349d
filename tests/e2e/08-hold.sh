# Hold with a reason, and give back: the drift is held meanwhile, and drift again after.
. ./lib.sh
start 120 40
fleet payments drifted
goto payments
keys p
see 'hold: why'
type 'INC-4711 hotfix'
keys Enter
see 'Type its name: prod-eu'
see 'INC-4711'
type prod-eu
see '▸ hold ◂'
keys Enter
gone 'Type its name'
keys Enter
see 'held'
keys Escape
keys p
see 'Type its name: prod-eu'
see 'resume'
type prod-eu
keys Enter
gone 'Type its name'
keys Q
ends 0
