# Colours are an ornament: without any (NO_COLOR), with 16 and with many, the same words and signs stand there.
. ./lib.sh
count() { colours | grep -oE $'\e\\[[0-9;:]*m' | grep -cE "$1"; }
start 120 40 NO_COLOR=1
fleet checkout drifted
see '~ drifted'
[ "$(count '[[;](3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;:m]')" = 0 ] || fail 'colours in spite of NO_COLOR'
keys Q
ends 0
close
start 120 40 TERM=screen
fleet checkout drifted
see '~ drifted'
# the first 16 of the table of 256 are the terminal's own
[ "$(count '[[;](38|48)[;:](2|5[;:](1[6-9]|[2-9][0-9]|[12][0-9][0-9])[;:m])')" = 0 ] || fail 'more than 16 colours on a terminal that has 16'
[ "$(count '[[;](3[0-7]|9[0-7]|38[;:]5)[;:m]')" -gt 0 ] || fail 'no colours at all'
keys Q
ends 0
close
start 120 40 COLORTERM=truecolor
fleet checkout drifted
[ "$(count '[[;]38[;:]')" -gt 0 ] || fail 'no colours at all'
keys Q
ends 0
