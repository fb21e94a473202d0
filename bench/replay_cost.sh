#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a replay takes beside the program itself: launch_heavy, recorded once, then the program and
# `tracesmith replay` of its recording in turn. Usage: bench/replay_cost.sh BIN_DIR [ROUNDS]
set -euo pipefail

bin="$1" rounds="${2:-15}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$bin/tracesmith" profile -q --record -o "$work/run.sbt" -- "$bin/launch_heavy" >/dev/null

seconds() { # file, command...
  local file="$1" begin
  shift
  begin="$(date +%s%N)"
  "$@" >"$work/said"
  echo "$((($(date +%s%N) - begin) / 1000000))" >>"$file"
}
median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

for ((i = 0; i < rounds; ++i)); do
  seconds "$work/native" "$bin/launch_heavy"
  seconds "$work/replay" "$bin/tracesmith" replay "$work/run.sbt"
done
native="$(median "$work/native")" replay="$(median "$work/replay")"
cat "$work/said"
printf 'program %d ms, replay %d ms (medians of %d): %d.%02d times\n' "$native" "$replay" "$rounds" \
  $((replay / native)) $((replay * 100 / native % 100))
