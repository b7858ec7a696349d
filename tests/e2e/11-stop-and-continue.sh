# Ctrl-Z gives the terminal to the shell, fg takes it again and draws the same screen; keys still work.
. ./lib.sh
start 80 24
goto checkout
keys Enter
match 'drifted +Deployment +checkout/checkout-api'
keys C-z
until_true "$patience" 'not stopped' plain_screen
until_true 10 'no cursor in the shell' cursor_shown
type 'echo in-the-shell'; keys Enter
match '^in-the-shell'
type fg; keys Enter
until_true "$patience" 'not continued' alternate_screen
see 'checkout-api'
keys d
see '2.14.1-hotfix'
keys Q
until_true 20 'did not end' plain_screen
until_true 10 'no cursor' cursor_shown
type 'echo gave-$?'; keys Enter
see 'gave-0'
