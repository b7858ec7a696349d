# SIGTERM and SIGHUP give the terminal back; nothing of the demo stays on disk.
. ./lib.sh
for signal in TERM HUP; do
  shell 80 24
  type 'stty -a >"$HOME/before"'; keys Enter
  until_true 20 'stty says nothing' test -s "$work/home/before"
  run demo
  see checkout
  kill -"$signal" "$(program)"
  see 'ended with'
  until_true 20 "still on the alternate screen after SIG$signal" plain_screen
  until_true 20 "no cursor after SIG$signal" cursor_shown
  type 'stty -a >"$HOME/after"'; keys Enter
  until_true 20 'stty says nothing' test -s "$work/home/after"
  until_true 20 "modes changed by SIG$signal" cmp -s "$work/home/before" "$work/home/after"
  [ -z "$(ls "$work/tmp")" ] || fail "SIG$signal left behind: $(ls "$work/tmp")"
  close
  rm -f "$work"/home/*
done
