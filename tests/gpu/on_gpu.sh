#!/bin/sh
# Tests the module on this machine's GPU at small sizes (`./dev gpu` tests all). Skipped without a
# GPU.
#
#   on_gpu.sh CHECK_DEVICE
check=$1
why=$("$check" --probe 2>&1)
case $? in
0) exec "$check" --small ;;
3) echo "skipped: ${why#check_device: }"; exit 77 ;;
*) echo "$why"; exit 1 ;;
esac
