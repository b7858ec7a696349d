# The demo's fleet in four sizes: the apps and their states are there, and nothing crashes where there is no room.
. ./lib.sh
for size in '80 24' '120 40' '200 60'; do
  start $size
  fleet checkout drifted
  fleet recommendations failed
  see 'dr-west'
  keys Q
  ends 0
  close
done
start 20 5
until_true "$patience" 'nothing is drawn' shows_match '[!~%?=]'
# every screen and sheet fits somehow
for key in Enter d '?' q x q 2 4 5 '!' q : BSpace 1; do keys "$key"; done
match 'fleet'
keys Q
ends 0
