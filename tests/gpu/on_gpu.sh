#!/bin/sh
# The module on this machine's GPU, small sizes (`./dev gpu` asks for all of them); skipped where there is none, and why.
#
#   on_gpu.sh CHECK_DEVICE
check=$1
why=$("$check" --probe 2>&1)
case $? in
0) exec "$check" --small ;;
3) echo "skipped: ${why#check_device: }"; exit 77 ;;
*) echo "$why"; exit 1 ;;
esac
