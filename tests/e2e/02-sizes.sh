# The demo's fleet in four sizes: the apps and their states are there, and nothing crashes where there is no room.
. ./lib.sh
for size in '80 24' '120 40' '200 60'; do
  start $size
  fleet checkout drifted
  fleet recommendations failed
  see 'dr-west'
  keys Q
  ends 0
  tmux -L "$socket" kill-server
done
start 20 5
until_true "$patience" 'nothing is drawn' shows_match '[!~%?=]'
# every screen and sheet fits somehow
keys Enter; keys d; keys '?'; keys Escape; keys x; keys Escape; keys :; keys Escape; keys 1; keys 2; keys 5; keys 1
match 'fleet'
keys Q
ends 0
