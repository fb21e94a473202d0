#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording for replay costs: the launch-heavy example alone, traced, and recorded, in turn, by
# the wall clock; the size of its files; and how fast distinct payload is taken. Bars: 1.25 times
# native and 4 MB of files; 500 MB/s of distinct payload, or what the disk takes.
# Usage: bench/record_cost.sh BIN_DIR [RUNS [MIB]]     (default: 15 runs, 4096 MiB)
set -euo pipefail

bin="$1" runs="${2:-15}" mib="${3:-4096}"
work="$(mktemp -d "${TMPDIR:-/tmp}/record_cost.XXXXXX")"
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR="$work/pocl_cache"
mkdir -p "$POCL_CACHE_DIR"
unset OPENCL_LAYERS

# seconds FILE COMMAND...: appends how long it took by the clock.
seconds() {
  local file="$1" begin end
  shift
  begin="$(date +%s%N)"
  "$@" >>"$work/said" 2>&1
  end="$(date +%s%N)"
  awk -v ns="$((end - begin))" 'BEGIN {printf "%.4f\n", ns / 1e9}' >>"$file"
}
median() { sort -n "$1" | awk '{v[NR] = $1} END {printf "%.4f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.3f", a / b}'; }

"$bin/launch_heavy" 100 >/dev/null # the kernel's binary goes to PoCL's cache
for ((i = 0; i < runs; i++)); do
  seconds "$work/native" "$bin/launch_heavy"
  seconds "$work/traced" "$bin/tracesmith" profile -q -o "$work/traced.sbt" -- "$bin/launch_heavy"
  seconds "$work/recorded" "$bin/tracesmith" profile --record -o "$work/recorded.sbt" -- "$bin/launch_heavy"
done
native="$(median "$work/native")" traced="$(median "$work/traced")" recorded="$(median "$work/recorded")"
files="$(cat "$work/recorded.sbt" "$work/recorded.sbr" | wc -c)"
echo "the launch-heavy example, median of $runs runs in turn:"
printf '  %-10s %s s\n' native "$native"
printf '  %-10s %s s   %s of native\n' traced "$traced" "$(ratio "$traced" "$native")"
printf '  %-10s %s s   %s of native (bar: 1.25)\n' recorded "$recorded" "$(ratio "$recorded" "$native")"
echo "  files: $files bytes (bar: 4000000)"
grep -h 'recorded [0-9]' "$work/said" | tail -n 1 | sed "s|$work/||; s/^tracesmith: /  /"

: >"$work/said"
dd if=/dev/zero of="$work/disk" bs=4M count=$((mib / 4)) conv=fsync 2>"$work/dd"
rm -f "$work/disk"
disk="$(awk '/copied/ {print $(NF - 1) " " $NF}' "$work/dd")"
seconds "$work/upload_native" "$bin/cl_upload" "$mib"
seconds "$work/upload" "$bin/tracesmith" profile --record -o "$work/upload.sbt" -- "$bin/cl_upload" "$mib"
echo "$mib MiB of distinct payload that cannot be compressed (the disk takes zeros at $disk):"
awk -v mib="$mib" -v s="$(cat "$work/upload")" -v n="$(cat "$work/upload_native")" \
  'BEGIN {printf "  %.0f MB/s (%.2f s; alone %.2f s)\n", mib * 1.048576 / s, s, n}'
grep -h 'recorded [0-9]' "$work/said" | tail -n 1 | sed "s|$work/||; s/^tracesmith: /  /"
bad=0
awk -v r="$(ratio "$recorded" "$native")" 'BEGIN {exit !(r > 1.25)}' && echo "above the bar for time" && bad=1
((files > 4000000)) && echo "above the bar for files" && bad=1
exit "$bad"
