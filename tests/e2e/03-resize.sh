# A storm of sizes while the program runs: it draws the last one, and the cursor stays on its app.
. ./lib.sh
start 120 40
goto checkout
keys Enter
see 'checkout-api'
for size in '20 5' '200 60' '1 1' '80 24' '33 7' '150 12' '10 40'; do
  tmux -L "$socket" resize-window -x "${size% *}" -y "${size#* }"
done
tmux -L "$socket" resize-window -x 100 -y 30
see 'checkout-api'
until_true "$patience" 'not drawn over the whole height' shows '? help'
[ "$(pane pane_width)x$(pane pane_height)" = 100x30 ] || fail 'not resized'
tmux -L "$socket" resize-window -x 80 -y 24
see '? help'
see 'checkout-api'
keys Q
ends 0
