#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Disks that fail: full (a small tmpfs, where the system lets us mount one), dying (EIO from a
# preloaded library, at each of the first calls), and limited (RLIMIT_FSIZE).
# Usage: disk.sh BIN_DIRECTORY
set -euo pipefail
bin="$(cd "$1" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

report() { # what, output of torture_failing_disk...
  printf '%-14s %s\n' "$1" "$2"
}

if unshare -m true 2>/dev/null; then
  mkdir "$work/small"
  # shellcheck disable=SC2016 # expanded in the inner shell
  out="$(unshare -m bash -c 'mount -t tmpfs -o size=1m none "$1" && "$2" "$1/run.sbt" space' - \
    "$work/small" "$bin/torture_failing_disk")"
  report "full disk" "${out//"$work"/…}"
else
  echo "full disk      skipped: this system lets us mount nothing"
fi

for call in 1 2 3 4 5 6 7 8 9 20 50; do
  rm -f "$work/run.sbt"
  out="$(TORTURE_FAIL_AFTER=$call LD_PRELOAD="$bin/libfailing-writes.so" \
    "$bin/torture_failing_disk" "$work/run.sbt" "Input/output error")"
done
report "dying disk" "EIO at write 1 to 9, 20 and 50; at the last: ${out//"$work"/…}"

rm -f "$work/run.sbt"
out="$(
  ulimit -f 512
  trap '' XFSZ
  "$bin/torture_failing_disk" "$work/run.sbt" "too large"
)"
report "file limit" "${out//"$work"/…}"
