#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tracing a function costs, for an entry and its exit together: sleds that do nothing, LLVM's
# own basic mode, and profile --xray under a live collector. Every call must be in the trace.
# Usage: bench/xray_cost.sh BIN_DIR [CALLS]     (default: 41 batches of 50000)
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bin="$1" calls="${2:-50000}"
bar_ns=60
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cxx="$(command -v clang++-14 || command -v clang++ || true)"
options=(-O1 -std=c++17 -fxray-instrument -fxray-ignore-loops -fxray-instruction-threshold=1000000)
if [[ -z $cxx ]] || ! "$cxx" "${options[@]}" "$here/../tests/cli/programs/xray_calls.cpp" \
  -o "$work/calls" -lpthread 2>/dev/null; then
  echo "not measured: there is no clang++ with XRay's runtime (libclang-rt-14-dev)"
  exit 0
fi
cd "$work"
none="$(./calls "$calls")"
basic="$(XRAY_OPTIONS="patch_premain=true xray_mode=xray-basic verbosity=0" \
  XRAY_BASIC_OPTIONS="func_duration_threshold_us=0" ./calls "$calls" 2>/dev/null)"
ours="$("$bin/tracesmith" profile -q --xray -b 16M -o out.sbt -- ./calls "$calls")"
kept="$("$bin/tracesmith" query --csv out.sbt \
  "SELECT count(*) FROM range WHERE name = 'leaf(int)'" | tail -n 1)"
echo "an entry and its exit, median of 41 x $calls calls:"
printf '  %-24s %8s ns\n' "not patched" "$none" "LLVM's basic mode" "$basic" "profile --xray" "$ours"
printf '  %s of %s calls in the trace, %s bytes for one\n' "$kept" "$((41 * calls))" \
  "$(awk -v b="$(stat -c %s out.sbt)" -v n="$kept" 'BEGIN {printf "%.1f", b / n}')"
bad=0
((kept == 41 * calls)) || bad=1
awk -v ours="$ours" -v bar="$bar_ns" 'BEGIN {exit !(ours <= bar)}' || {
  echo "more than the bar of $bar_ns ns"
  bad=1
}
exit "$bad"
