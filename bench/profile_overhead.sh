#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What profiling costs a program whose kernels keep its device busy: elapsed time beside the program
# alone, in turn, and the processor time of the recording process itself. Goals: less than 5 %, and
# less than 1 %. Each round is a run alone and a run profiled; a goal holds, or is missed, when the
# 95 % confidence interval of the median lies on one side of it. An interval around the goal decides
# nothing: the machine is too noisy, and that is said. Only a goal that is missed is an error.
# Usage: bench/profile_overhead.sh BIN_DIR [ROUNDS]     (default: 15; 6 or more)
set -euo pipefail

bin="$1" rounds="${2:-15}"
((rounds >= 6)) || { echo "fewer than 6 rounds have no 95 % confidence interval"; exit 2; }
work="$(mktemp -d "${TMPDIR:-/tmp}/profile_overhead.XXXXXX")"
trap 'rm -rf "$work"' EXIT
launches=2500 kernel_us=2000 probe=100000

# How many repetitions make a kernel of this machine's device last so long.
took_ms="$("$bin/benchmark_10k_stacks" -n 50 --work "$probe" | sed -n 's/.*: \([0-9.]*\) ms,.*/\1/p')"
repeat="$(awk -v ms="$took_ms" -v us="$kernel_us" -v probe="$probe" \
  'BEGIN {n = probe * us / (ms * 1000 / 50); printf "%d", (n < 1) ? 1 : (n > 1e8) ? 1e8 : n}')"

for ((i = 0; i < rounds; i++)); do
  "$bin/tracesmith" benchmark --no-stacks -n "$launches" --work "$repeat" --rounds 1 >"$work/said"
  sed -n 's/^  profiled  *\([0-9.]*\) times.*/\1/p' "$work/said" >>"$work/ratios"
  sed -n "s/^  tracesmith's own .*, \\([0-9.]*\\) % of a run.*/\\1/p" "$work/said" >>"$work/own"
done
[[ $(wc -l <"$work/ratios") -eq $rounds && $(wc -l <"$work/own") -eq $rounds ]] ||
  { echo "tracesmith benchmark did not say what it measured:" && cat "$work/said" && exit 1; }

# spread FILE SCALE OFFSET: median, both ends of its 95 % confidence interval (by order statistics:
# the ranks that a median lies outside of with a probability of at most 2.5 % a side), least and most.
spread() {
  sort -n "$1" | awk -v scale="$2" -v offset="$3" '
    {v[NR] = $1 * scale + offset}
    END {
      p = 0.5 ^ NR; below = p; k = 1
      for (i = 1; i <= NR; i++) { p = p * (NR - i + 1) / i; if (below + p > 0.025) break; below += p; k = i + 1 }
      m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      printf "%.3f %.3f %.3f %.3f %.3f\n", m, v[k], v[NR + 1 - k], v[1], v[NR]
    }'
}
missed=0
judge() { # WHAT GOAL MEDIAN LOW HIGH LEAST MOST
  local verdict
  verdict="$(awk -v low="$4" -v high="$5" -v goal="$2" \
    'BEGIN {print (high < goal) ? "holds" : (low >= goal) ? "MISSED" : "not decided: this machine is too noisy"}')"
  printf '  %-38s %7.2f %%   95 %% within %.2f to %.2f, all %.2f to %.2f   goal < %s %%: %s\n' \
    "$1" "$3" "$4" "$5" "$6" "$7" "$2" "$verdict"
  [[ $verdict != MISSED ]] || missed=1
}
echo "$launches kernels of about $kernel_us us each, $rounds rounds in turn:"
# shellcheck disable=SC2046 # five numbers
judge "elapsed time that profiling adds" 5 $(spread "$work/ratios" 100 -100)
# shellcheck disable=SC2046
judge "processor time of the recording process" 1 $(spread "$work/own" 1 0)
exit "$missed"
