#!/usr/bin/env bash
# The tmux stories: the real program in a real terminal, driven by keys, read from the screen.
# Each story is a file `NN-name.sh` beside this one that uses the words of lib.sh; each ends with its own session killed.
#
#   tests/e2e/run.sh [STORY ...]        the binary: $GITOPS_TUI, else the debug build
set -u
cd "$(dirname "$0")"
target=$(cargo metadata --format-version 1 --no-deps 2>/dev/null | grep -oE '"target_directory":"[^"]*"' | cut -d'"' -f4)
export GITOPS_TUI=${GITOPS_TUI:-$target/debug/gitops-tui}
[ -x "$GITOPS_TUI" ] || { echo "no program at $GITOPS_TUI: run cargo build first"; exit 2; }
stories=("$@")
[ ${#stories[@]} -gt 0 ] || stories=([0-9]*.sh)
command -v tmux >/dev/null || { echo "tmux is missing: apt-get install tmux"; exit 2; }
passed=0 failed=0
for story in "${stories[@]}"; do
  begun=$SECONDS
  if bash "$story"; then
    passed=$((passed + 1))
    echo "ok   $story ($((SECONDS - begun)) s)"
  else
    failed=$((failed + 1))
    echo "FAIL $story"
  fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
