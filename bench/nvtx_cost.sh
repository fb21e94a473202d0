#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording NVTX adds to its calls: a program without CUDA, without a tool and with the agent
# under a live collector. Every event must be in the trace or in its count of dropped records. A bar
# that is not met is measured again, twice at most: other work on the machine only ever adds.
# Usage: bench/nvtx_cost.sh BIN_DIR [BATCHES [CALLS]]    (default: 41 batches of 50000)
set -euo pipefail

bin="$1" batches="${2:-41}" calls="${3:-50000}"
bar_ns=120 # of a pair: 60 for each of its two calls
program="$bin/../cuda/13/nvtx_cost"
[[ -x $program ]] || {
  echo "no programs with NVTX (script/cuda-headers fetches what they are built from)"
  exit 77
}
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
unset NVTX_INJECTION64_PATH

query() { "$bin/tracesmith" query --csv "$work/out.sbt" "$1" | tail -n 1; }
measure() {
  local events emitted written dropped n=$((batches * calls + 100))
  "$program" "$batches" "$calls" >"$work/none"
  "$bin/tracesmith" profile -b 64M -o "$work/out.sbt" -- "$program" "$batches" "$calls" \
    >"$work/agent" 2>"$work/said"
  events=$((7 * n)) # a mark is one, a range is two
  IFS=, read -r emitted written dropped \
    <<<"$(query "SELECT emitted, written, dropped FROM loss WHERE source = 'CUDA records'")"
  echo "events $events = written $written + dropped $dropped"
  ((emitted == events && written + dropped == events && written > 0))
  awk -v bar="$bar_ns" '
    NR == FNR { for (i = 1; i <= 4; ++i) none[i] = $i; next }
    {
      split("push and pop|with attributes, domain and registered string|mark|start and end", what, "|")
      for (i = 1; i <= 4; ++i) {
        printf "  %-48s %6.1f ns   without a tool %4.1f ns\n", what[i], $i, none[i]
        limit = i == 3 ? bar / 2 : bar
        if ($i - none[i] > limit) bad = 1
      }
      exit bad
    }' "$work/none" "$work/agent"
}
for _ in 1 2 3; do
  if measure; then exit 0; fi
done
echo "more than $bar_ns ns for a pair"
exit 1
