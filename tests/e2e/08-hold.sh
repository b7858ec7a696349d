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
# drift comes before held in the fleet; the app's screen says that nothing is automated now
keys Enter
see 'no automated, no self-heal'
# A controller may write between plan and confirmation; the plan is then refused, in words, and a person plans it again.
answered() { shows_not 'no automated' || shows 'could not patch'; }
for _ in 1 2 3 4 5; do
  keys p
  see 'Type its name: prod-eu'
  see 'resume'
  type prod-eu
  see '▸ resume ◂'
  keys Enter
  gone 'Type its name'
  until_true "$patience" 'the resume is not answered' answered
  shows_not 'no automated' && break
  gone 'could not patch'
done
never 'no automated'
see 'automated, self-heal'
keys Q
ends 0
