# Words for the tmux stories: start, keys, type, see, match, gone, goto, ends, say. Every wait has a deadline and polls; nothing
# sleeps blindly. Each story owns one tmux server and one folder, and takes both with it however it ends.
set -u
opened=0
socket=e2e-$opened
work=$(mktemp -d "${TMPDIR:-/tmp}/gitops-tui-e2e-XXXXXX")
export TMUX_TMPDIR=$work # the servers' sockets go with the folder
patience=${E2E_PATIENCE:-60} # seconds; generous, since a wait ends as soon as it is true

# close: ends the terminal and what runs in it
close() {
  tmux -L "$socket" list-panes -a -F '#{pane_pid}' 2>/dev/null | while read -r pid; do
    pkill -KILL -P "$pid" 2>/dev/null
  done
  tmux -L "$socket" kill-server 2>/dev/null
}
clean() {
  close
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

# shell WIDTH HEIGHT [VARIABLE=VALUE …]: a shell of that size in a bare environment, of its own folder
shell() {
  local width=$1 height=$2
  shift 2
  local more=
  # A server that is still ending would take the new terminal with it: each has its own.
  opened=$((opened + 1))
  socket=e2e-$opened
  [ $# -eq 0 ] || more=$(printf " '%s'" "$@")
  mkdir -p "$work/home" "$work/tmp"
  cat >"$work/sh" <<END
#!/bin/sh
cd '$work'
exec env -i HOME='$work/home' TMPDIR='$work/tmp' PATH='$PATH' TERM=screen-256color LANG=C.UTF-8 PS1='ready> ' \
  TUI='$GITOPS_TUI' $more sh -i
END
  chmod +x "$work/sh"
  tmux -L "$socket" -f /dev/null new-session -d -x "$width" -y "$height" "$work/sh"
  see 'ready>'
}
# start WIDTH HEIGHT [VARIABLE=VALUE …]: the demo in such a shell, its fleet on the screen
start() {
  shell "$@"
  run demo
  see 'fleet'
}
# run ARGUMENTS: the program by hand in the shell; its exit code is said once it ends
run() {
  type "\"\$TUI\" $*; echo \"ended with \$?\""
  keys Enter
}
keys() { tmux -L "$socket" send-keys "$@"; }
type() { tmux -L "$socket" send-keys -l -- "$1"; }
screen() { tmux -L "$socket" capture-pane -p 2>/dev/null; }
colours() { tmux -L "$socket" capture-pane -p -e; }
pane() { tmux -L "$socket" display-message -p "#{$1}"; }
# program: the process id of the running program
program() { pgrep -n -P "$(pane pane_pid)" -f -- "$GITOPS_TUI" || pgrep -n -P "$(pane pane_pid)"; }

fail() {
  echo "--- $1"
  screen 2>/dev/null | sed -e 's/ *$//' -e 's/^/    /'
  exit 1
}
# until_true SECONDS WORDS COMMAND…: polls the command
until_true() {
  local end=$((SECONDS + $1)) words=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "$words"
    sleep 0.05
  done
}
shows() { screen | grep -qF -- "$1"; }
shows_match() { screen | grep -qE -- "$1"; }
shows_not() { ! screen | grep -qF -- "$1"; }
# see TEXT [SECONDS]: waits until the text is on the screen
see() { until_true "${2:-$patience}" "not seen: $1" shows "$1"; }
# match REGEX [SECONDS]: waits until a line of the screen matches
match() { until_true "${2:-$patience}" "no line matches: $1" shows_match "$1"; }
# gone TEXT [SECONDS]: waits until the text has left the screen
gone() { until_true "${2:-$patience}" "still there: $1" shows_not "$1"; }
# never TEXT: the text is not on the screen now
never() { shows_not "$1" || fail "should not be there: $1"; }
# fleet NAME STATE: waits until the fleet shows the app in that state
fleet() { match "$2 .* $1( |$)"; }
# goto NAME: narrows the fleet to what matches, which puts the cursor on it
goto() {
  keys /
  see 'filter'
  keys C-u
  type "$1"
  keys Enter
  see "$1"
}
# ends CODE: waits until the program ended so, and the terminal is the shell's again
ends() {
  see "ended with $1"
  until_true 10 'still on the alternate screen' plain_screen
  until_true 10 'the cursor is hidden' cursor_shown
}
plain_screen() { [ "$(pane alternate_on)" = 0 ]; }
cursor_shown() { [ "$(pane cursor_flag)" = 1 ]; }
alternate_screen() { [ "$(pane alternate_on)" = 1 ]; }
