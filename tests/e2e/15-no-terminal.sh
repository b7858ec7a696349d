# Without a terminal the screens say so in a sentence and end with 2; a broken option does the same.
. ./lib.sh
said=$(HOME="$work" TERM=dumb setsid "$GITOPS_TUI" demo </dev/null 2>&1 >/dev/null | cat)
case $said in *terminal*) ;; *) fail "no word about the terminal: $said" ;; esac
HOME="$work" setsid "$GITOPS_TUI" demo </dev/null >/dev/null 2>&1
code=$?
[ $code = 2 ] || fail "ended with $code"
