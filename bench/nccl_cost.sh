#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the profiler plugin for NCCL costs for each event, from its start to its end, beside a plugin that does nothing.
# The bar is 150 ns an event more. Usage: bench/nccl_cost.sh BIN
set -euo pipefail
bin=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cxx=("${CXX:-c++}" -std=c++20 -O2 -I "$here/../src")
"${cxx[@]}" "$here/nccl_cost.cpp" -o "$out/cost" -ldl
"${cxx[@]}" -shared -fPIC -DOTHER_VERSION=7 -DOTHER_IS_EMPTY "$here/../tests/nccl/other_plugin.cpp" -o "$out/empty.so"
# The machine's speed varies from one run to the next: the median of five pairs of runs counts.
for _ in 1 2 3 4 5; do
  empty=$(NCCL_PROFILER_PLUGIN="$out/empty.so" "$out/cost")
  recorded=$(NCCL_PROFILER_PLUGIN=none "$bin/tracesmith" profile -q -b 256M -o "$out/cost.sbt" -- "$out/cost")
  paste <(echo "$empty") <(echo "$recorded")
done | python3 -c '
import statistics, sys
rows = [line.split() for line in sys.stdin]
missed = False
for at in (0, 2, 4):
    empty = statistics.median(float(row[at + 1]) for row in rows)
    recorded = statistics.median(float(row[at + 7]) for row in rows)
    more = statistics.median(float(row[at + 7]) - float(row[at + 1]) for row in rows)
    print(f"{rows[0][at]:10} {empty:6.1f} ns empty  {recorded:6.1f} ns recorded  {more:6.1f} ns more")
    missed = missed or more > 150
sys.exit(missed)'
