# The terminal is left as it was found: modes, cursor, screen, mouse; what stood there before stands there again.
. ./lib.sh
shell 80 24
type 'echo before; stty -a >"$HOME/before"'; keys Enter
see before
run demo
see checkout
until_true 10 'not on the alternate screen' alternate_screen
[ "$(pane mouse_any_flag)$(pane mouse_standard_flag)$(pane mouse_button_flag)$(pane mouse_all_flag)" != 0000 ] || fail 'no mouse'
keys q
see 'Quit?'
keys y
ends 0
see before
[ "$(pane mouse_any_flag)" = 0 ] || fail 'the mouse is still ours'
type 'stty -a >"$HOME/after"; echo compared'; keys Enter
see 'compared'
until_true 10 'stty says nothing' test -s "$work/home/after"
cmp "$work/home/before" "$work/home/after" || fail 'the modes of the terminal changed'
# nothing is left on disk: the demo's folder is gone, the home holds no file of ours
[ -z "$(ls "$work/tmp")" ] || fail "left behind: $(ls "$work/tmp")"
# and Q quits at once, from anywhere
run demo
see checkout
keys '?'
see 'On this screen'
# apart from Q: together they are Alt-Q to a terminal
keys Escape
gone 'On this screen'
keys Q
until_true 60 'did not end twice' sh -c "[ \$(tmux -L $socket capture-pane -p | grep -c 'ended with 0') = 2 ]"
