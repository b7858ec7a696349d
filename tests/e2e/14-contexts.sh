# A dead context is a row with its cause; the others are there all the same, and nothing waits for it.
. ./lib.sh
start 80 24
fleet checkout drifted
match 'dr-west.*(unreachable|cannot be reached)'
keys 5
match 'prod-eu'
match 'staging'
match 'dr-west'
match 'unreachable +dr-west'
keys G
keys i
see 'refused'
keys Escape
gone 'refused'
keys 1
fleet checkout drifted
keys Q
ends 0
