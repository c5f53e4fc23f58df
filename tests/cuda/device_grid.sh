#!/bin/bash
# In test_device_grid, blocks of every launch with gcb::grid_over take more than one piece: compares
# its output with the source.
#   device_grid.sh TEST_DEVICE_GRID
set -uo pipefail
root=$(dirname "$(readlink -f "$0")")/../..
sites=$(mktemp) || exit 99
trap 'rm -f "$sites"' EXIT

"$1" "$sites" || exit 1
cd "$root" || exit 99
asked=$(grep -rno 'grid_over(' kernels --include='*.cu' --include='*.cuh' | grep -v '^kernels/cuda/launch.cuh:' | cut -d: -f1,2 | sort)
turned=$(sed -n 's/ turned$//p' "$sites" | sort)
[ -n "$asked" ] || { echo "no kernel source calls gcb::grid_over" >&2; exit 1; }
never=$(comm -23 <(printf '%s\n' "$asked") <(printf '%s\n' "$turned"))
[ -z "$never" ] || { printf 'these launches never had more pieces than blocks, or were never run:\n%s\n' "$never" >&2; exit 1; }
