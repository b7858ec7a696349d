# 03:00: fleet → app → diff → mark the field → accept → commit; Git then holds the minimal commit on the named branch.
. ./lib.sh
# fact WORD NEXT: what the sheet says after the word, over all its lines, without blanks
fact() {
  screen | sed 's/.*│ //; s/ *│.*//' | awk -v from="$1" -v to="$2" '
    $1 == to { on = 0 } $1 == from { on = 1; $1 = "" } on { gsub(/ /, ""); printf "%s", $0 }'
}
for size in '80 24' '120 40'; do
  start $size
  fleet checkout drifted
  goto checkout
  keys Enter
  match 'drifted +Deployment +checkout/checkout-api'
  keys d
  # the diff opens on what drifted, with blame and origin of the field
  see '2.14.1-hotfix'
  see 'kubectl-set'
  match 'from +apps/checkout'
  keys Space
  see '1 marked'
  keys a
  see 'Commit and push'
  see 'rendered again'
  repository=$(fact repository branch)
  branch=$(fact branch message | sed 's/(.*//')
  case $(fact proof accepts) in *0otherfield*moved) ;; *) fail 'no proof' ;; esac
  [ -d "$repository" ] || fail "no repository at '$repository'"
  # Commit has the focus: nothing is pushed by habit
  see '▸ Commit ◂'
  keys Enter
  see 'committed'
  git -C "$repository" show --format='%an%n%s' "$branch" >"$work/shown" || fail "no branch $branch"
  changed=$(grep -cE '^[+-][^+-]' "$work/shown")
  [ "$changed" = 2 ] || { cat "$work/shown"; fail "not minimal: $changed lines changed"; }
  grep -qE '^\+ .*2\.14\.1-hotfix' "$work/shown" || { cat "$work/shown"; fail 'the hotfix is not in the commit'; }
  [ "$(git -C "$repository" diff-tree --no-commit-id --name-only -r "$branch" | wc -l)" = 1 ] || fail 'more than one file'
  # the remote end knows nothing of it
  remote=$(git -C "$repository" config remote.origin.url || ls -d "$work"/tmp/gitops-tui-demo-*/fleet.git)
  ! git -C "${remote#file://}" rev-parse -q --verify "refs/heads/$branch" >/dev/null || fail 'pushed without being asked'
  # the journal tells of it
  keys 4
  see 'accept'
  keys Q
  ends 0
  close
done
