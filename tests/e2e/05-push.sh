# Accept with push: the branch arrives at the remote end; escape and Cancel leave nothing.
. ./lib.sh
start 120 40
goto checkout
keys Enter
match 'drifted +Deployment +checkout/checkout-api'
keys d
see '2.14.1-hotfix'
keys a
see 'Commit and push'
branch=$(screen | grep -oE 'branch +[^ │]+' | awk '{print $2}')
remote=$(ls -d "$work"/tmp/gitops-tui-demo-*/fleet.git)
keys Escape
gone 'Commit and push'
! git -C "$remote" rev-parse -q --verify "refs/heads/$branch" >/dev/null || fail 'a cancelled accept wrote'
keys a
see '▸ Commit ◂'
keys Tab
see '▸ Commit and push ◂'
keys Enter
see 'pushed to'
until_true 20 'the branch did not arrive' git -C "$remote" rev-parse -q --verify "refs/heads/$branch" >/dev/null
keys Q
ends 0
