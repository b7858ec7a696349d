# Words for the tmux stories: start, keys, see, gone, screen, ends. Every wait has a deadline; nothing sleeps blindly.
socket=gitops-tui-e2e-$$
work=$(mktemp -d)
trap 'tmux -L "$socket" kill-server 2>/dev/null; rm -rf "$work"' EXIT

# start WIDTH HEIGHT ARGS…: the program in a fresh shell of that size; the shell stays when the program ends
start() {
  local width=$1 height=$2
  shift 2
  tmux -L "$socket" -f /dev/null new-session -d -x "$width" -y "$height" \
    "cd '$work' && env -i HOME='$work' PATH='$PATH' TERM=screen-256color LANG=C.UTF-8 sh -c '\"$GITOPS_TUI\" $*; echo \"ended with \$?\"; stty -a | grep -o -- \"-*icanon\"; exec sh'"
}
keys() { tmux -L "$socket" send-keys "$@"; }
screen() { tmux -L "$socket" capture-pane -p; }
# see TEXT [SECONDS]: waits until the text is on the screen
see() {
  local end=$((SECONDS + ${2:-20}))
  until screen | grep -qF -- "$1"; do
    [ $SECONDS -lt $end ] || { echo "not seen: $1"; screen; exit 1; }
    sleep 0.1
  done
}
# gone TEXT [SECONDS]: waits until the text has left the screen
gone() {
  local end=$((SECONDS + ${2:-20}))
  while screen | grep -qF -- "$1"; do
    [ $SECONDS -lt $end ] || { echo "still there: $1"; screen; exit 1; }
    sleep 0.1
  done
}
