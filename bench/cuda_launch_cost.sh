#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the CUDA agent adds to a launch, with the stand-ins for driver and CUPTI: a launch that fails
# at once, without a tool, with one whose callback does nothing, and with the agent under a live
# collector, without and with call stacks. Every call must be in the trace or in its count of dropped
# records. All four take turns, and of each the quietest turn counts; how many instructions it is,
# which no load shifts, is asked by tests/cuda/launch_cost_test.py.
# Usage: bench/cuda_launch_cost.sh BIN_DIR [TURNS [BATCHES [CALLS]]]    (default: 7 of 7 batches of 250000)
set -euo pipefail

bin="$1" turns="${2:-7}" batches="${3:-7}" calls="${4:-250000}"
bar_ns=60 bar_stack_ns=100
standins="$bin/../cuda/13"
[[ -x $standins/launch_cost ]] || {
  echo "no stand-ins for CUDA 13 (script/cuda-headers fetches what they are built from)"
  exit 77
}
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$standins"
unset CUDA_INJECTION64_PATH

quietest() { sort -g -k "$2" "$1" | awk -v field="$2" 'NR == 1 {print $field}'; }
row() { printf '  %-34s %8s ns   %8s ns of processor time\n' "$1" "$(quietest "$2" 1)" "$(quietest "$2" 3)"; }
query() { "$bin/tracesmith" query --csv "$work/out.sbt" "$1" | tail -n 1; }
# agent FILE OPTIONS...: the agent's cost; fails when calls are missing.
agent() {
  local out="$1" recorded dropped made=$((batches * calls))
  shift
  "$bin/tracesmith" profile -b 16M "$@" -o "$work/out.sbt" -- "$standins/launch_cost" "$batches" "$calls" \
    >>"$out" 2>"$work/said"
  recorded="$(query "SELECT count(*) FROM host_call WHERE kind = 'launch' AND result <> 0")"
  dropped="$(query "SELECT coalesce(sum(dropped), 0) FROM loss WHERE source = 'CUDA records'")"
  ((turn > 1)) || echo "  calls $((made + 100)) = recorded $recorded + dropped $dropped"
  ((recorded + dropped == made + 100 && recorded > 0))
}

for ((turn = 1; turn <= turns; ++turn)); do
  "$standins/launch_cost" "$batches" "$calls" >>"$work/none"
  CUDA_INJECTION64_PATH="$standins/libempty-callback.so" "$standins/launch_cost" "$batches" "$calls" >>"$work/empty"
  agent "$work/agent"
  agent "$work/stacks" --stacks=native
done

echo "a failing cuLaunchKernel of the stand-in, the quietest of $turns medians of $batches x $calls calls:"
row "no tool" "$work/none"
row "an empty callback" "$work/empty"
row "the agent" "$work/agent"
row "the agent with call stacks" "$work/stacks"
bad=0
within() { # name, file, bar
  local added
  added="$(awk -v a="$(quietest "$2" 3)" -v n="$(quietest "$work/empty" 3)" 'BEGIN {printf "%.1f", a - n}')"
  echo "  $1 adds $added ns of processor time to the empty callback (bar: $3)"
  awk -v added="$added" -v bar="$3" 'BEGIN {exit !(added <= bar)}' || bad=1
}
within "the agent" "$work/agent" "$bar_ns"
within "the agent with call stacks" "$work/stacks" "$bar_stack_ns"
exit "$bad"
