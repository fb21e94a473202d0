#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts, under callgrind, the instructions of a program that launches an empty kernel and waits for
# it, alone and with the agent, and compares what the agent adds with a budget. The count is the
# whole process's, completion handling included; set-up is not. It does not depend on the machine's
# load: PoCL's basic device runs each command in the thread that waits for it.
# Usage: enqueue_instructions.sh BIN_DIR BUDGET_FILE COMPILER    (exit code 77: cannot be checked)
set -euo pipefail

bin="$1" budget_file="$2" compiler="$3"
launches=1000
skip() {
  echo "skipped: $*"
  exit 77
}
command -v valgrind >/dev/null || skip "valgrind is not installed"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cache="$bin/../pocl_cache_valgrind"
mkdir -p "$cache"
# What malloc takes hangs on where things happen to lie (200 instructions a launch were seen): always
# the same environment, and each thread keeps what it frees.
clean=(env -i "PATH=$PATH" HOME=/ POCL_DEVICES=basic "POCL_CACHE_DIR=$cache"
  GLIBC_TUNABLES=glibc.malloc.tcache_count=10000)
count=(valgrind --tool=callgrind --instr-atstart=no)

# total FILE: all instructions; own FILE OBJECT: those in the code of one object.
total() { awk '/^(summary|totals):/ {n = $2} END {print n + 0}' "$1"; }
own() {
  awk -v object="$2" '
    /^c?ob=/ {
      match($0, /\([0-9]+\)/)
      id = substr($0, RSTART, RLENGTH)
      if (length($0) > RSTART + RLENGTH) name[id] = substr($0, RSTART + RLENGTH + 1)
      if ($0 ~ /^ob=/) current = id
      next
    }
    /^calls=/ { getline; next } # what a call cost is counted where it was spent
    /^[0-9+*-]/ { sum[current] += $2 }
    END { for (id in sum) if (index(name[id], object)) n += sum[id]; print n + 0 }' "$1"
}

# Once beforehand: a process that has compiled the kernel has another heap, and other counts, than
# one that found it in the cache. (Cached for the processor that valgrind shows, not for the real.)
"${clean[@]}" valgrind --tool=none "$bin/enqueue_cost" empty 1 1 >"$work/said" 2>"$work/valgrind" || {
  tail -n 20 "$work/valgrind"
  skip "the program does not run under valgrind here"
}
grep -q PoCL "$work/said" || skip "the OpenCL device is not PoCL's: $(cat "$work/said")"
"${clean[@]}" "${count[@]}" --callgrind-out-file="$work/alone" "$bin/enqueue_cost" empty 1 "$launches" \
  >"$work/said" 2>"$work/valgrind"
"${clean[@]}" "$bin/profile_driver" "$work/out.sbt" "$work/report" layer -- \
  "${count[@]}" --callgrind-out-file="$work/watched" "$bin/enqueue_cost" empty 1 "$launches" \
  >"$work/said" 2>"$work/valgrind"

# What was not recorded would cost nothing.
made="$(awk '{print $1}' "$work/said")"
kernels="$(awk '$1 == "kernels" {print $2}' "$work/report")"
dropped="$(awk '$1 == "dropped" {print $2}' "$work/report")"
if [[ $kernels != "$made" || $dropped != 0 ]]; then
  echo "$made launches made, but $kernels recorded and $dropped dropped"
  exit 1
fi

alone=$(($(total "$work/alone") / launches))
added=$(($(total "$work/watched") / launches - alone))
agent=$(($(own "$work/watched" libtracesmith-opencl) / launches))
if ((alone <= 0 || agent <= 0)); then
  echo "callgrind counted nothing: $alone instructions alone, $agent in the agent"
  exit 1
fi
echo "an empty launch and clFinish: $alone instructions; the agent adds $added, $agent of them its own"

read -r budget own_budget < <(awk -v c="$compiler" '$1 == c {print $2, $3}' "$budget_file") ||
  skip "no budget for the compiler $compiler in $(basename "$budget_file")"
bad=0
check() { # what, figure, budget
  if (($2 * 100 > $3 * 105)); then
    echo "$1: $2 instructions are more than 5 % over the budget of $3"
    bad=1
  elif (($2 * 100 < $3 * 95)); then
    echo "$1: $2 instructions; the budget of $3 can be lowered"
  fi
}
check "added" "$added" "$budget"
check "the agent's own" "$agent" "$own_budget"
exit "$bad"
