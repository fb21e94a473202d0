#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the agent adds to an enqueue: a launch that fails at once (work_dim 0), with no layer, with a
# layer that only forwards, and with the agent under a live collector; then the instructions of a
# launch that succeeds. Every failed call must be in the trace or in its count of dropped records.
# Usage: bench/enqueue_cost.sh BIN_DIR [BATCHES [CALLS]]     (default: 41 batches of 250000)
# PEER: another tool's command line, to be put before the program and measured in the same run, such
# as PEER='cliloader --chrome-call-logging' of the OpenCL Intercept Layer.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bin="$1" batches="${2:-41}" calls="${3:-250000}"
bar_ns=50
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR="$bin/../pocl_cache"
mkdir -p "$POCL_CACHE_DIR"
unset OPENCL_LAYERS COUNTING_LAYER_FILE

# row NAME FILE: a line of the table; the median by the clock and of processor time.
row() { printf '  %-34s %8s ns   %8s ns of processor time\n' "$1" "$(awk '{print $1}' "$2")" "$(cpu "$2")"; }
cpu() { awk '{print $3}' "$1"; }
query() { "$bin/tracesmith" query --csv "$work/out.sbt" "$1" | tail -n 1; }

"$bin/enqueue_cost" null "$batches" "$calls" >"$work/none"
OPENCL_LAYERS="$bin/libcounting-layer.so" "$bin/enqueue_cost" null "$batches" "$calls" >"$work/layer"
"$bin/profile_driver" "$work/out.sbt" "$work/report" layer drop ring=16777216 -- \
  "$bin/enqueue_cost" null "$batches" "$calls" >"$work/agent"

echo "a failing clEnqueueNDRangeKernel, median of $batches x $calls calls:"
row "no layer" "$work/none"
row "a forwarding layer" "$work/layer"
row "the agent" "$work/agent"
if [[ -n ${PEER:-} ]]; then
  read -ra peer <<<"$PEER"
  (cd "$work" && HOME="$work" "${peer[@]}" "$bin/enqueue_cost" null "$batches" "$calls") 2>"$work/said" |
    grep ns/call >"$work/peer" || tail -n 5 "$work/said"
  row "$(basename "${peer[0]}") ${peer[*]:1}" "$work/peer"
fi
added="$(awk -v a="$(cpu "$work/agent")" -v n="$(cpu "$work/none")" 'BEGIN {printf "%.1f", a - n}')"
echo "  the agent adds $added ns of processor time (bar: $bar_ns)"

made=$((batches * calls))
recorded="$(query "SELECT count(*) FROM host_call WHERE name = 'clEnqueueNDRangeKernel'")"
with_code="$(query "SELECT count(*) FROM host_call
  WHERE name = 'clEnqueueNDRangeKernel' AND result = -53 AND duration_ns >= 0")"
dropped="$(awk '$1 == "dropped" {print $2}' "$work/report")"
echo "  calls $made = recorded $recorded + dropped $dropped"

bad=0
if ((recorded + dropped != made || with_code != recorded || recorded == 0)); then
  echo "calls are missing: $((made - recorded - dropped)), without their code: $((recorded - with_code))"
  bad=1
fi
awk -v added="$added" -v bar="$bar_ns" 'BEGIN {exit !(added <= bar)}' || {
  echo "more than the bar of $bar_ns ns"
  bad=1
}
"$here/../tests/capture/enqueue_instructions.sh" "$bin" "$here/../tests/capture/instruction_budget.txt" \
  GNU || (($? == 77)) || bad=1
exit "$bad"
