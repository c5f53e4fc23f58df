#!/bin/sh
# Completion as a user sees it: the tab key pressed in bash and zsh, on a terminal.
. "$(dirname "$0")/lib.sh"

[ -f "${GCBENCH%/*}/docs/_gcbench" ] || skip "no completion was built: cross build"
command -v zsh >/dev/null || skip "zsh is not installed"
python3 -c "import pty; pty.openpty()" 2>/dev/null || skip "no terminals can be made (/dev/pts)"
check "bash and zsh" python3 "$(dirname "$0")/check_completion.py" "${GCBENCH%/*}/docs" "$tmp"
finish
