# `?` explains every key of the screen it is asked on; `x` says what applies and why not; `:` finds by name.
. ./lib.sh
start 120 40
fleet checkout drifted
keys '?'
see 'On this screen (fleet)'
# every action of the documented table is in the help: read it to its end
: >"$work/help"
moved() { [ "$(screen)" != "$before" ]; }
while shows_not '│   = in-sync'; do
  before=$(screen)
  echo "$before" >>"$work/help"
  keys Space
  until_true "$patience" 'the help does not go on' moved
done
screen >>"$work/help"
missing=$(grep -oE '^\| .* \| `[a-z-]+` \|' ../../docs/keymap.md | grep -oE '`[a-z-]+` \|$' | tr -d '`| ' | while read -r name; do
  grep -qE "(^|[^a-z-])$name([^a-z-]|\$)" "$work/help" || echo "$name"
done)
[ -z "$missing" ] || fail "not explained: $missing"
keys Escape
gone 'On this screen'
keys x
see 'what applies here'
keys Escape
gone 'what applies here'
keys :
see 'run an action'
type contexts
keys Enter
match 'unreachable +dr-west'
keys Q
ends 0
