# The filter takes pasted text, wide characters and marks that combine; control characters of a paste do nothing.
. ./lib.sh
start 80 24
fleet checkout drifted
keys /
see 'filter'
type '日本語 é'
see '日本語 é'
keys BSpace BSpace
see '日本語'
keys C-u
gone '日本語'
# a bracketed paste with a line end and an escape sequence: one line, nothing is run
printf 'check\033[31mout\nQ' | tmux -L "$socket" load-buffer -
tmux -L "$socket" paste-buffer -p
see 'check'
keys C-u
printf 'checkout' | tmux -L "$socket" load-buffer -
tmux -L "$socket" paste-buffer -p
keys Enter
fleet checkout drifted
gone 'recommendations'
keys Q
ends 0
