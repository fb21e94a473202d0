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
empty=$(NCCL_PROFILER_PLUGIN="$out/empty.so" "$out/cost")
recorded=$(NCCL_PROFILER_PLUGIN=none "$bin/tracesmith" profile -q -b 256M -o "$out/cost.sbt" -- "$out/cost")
paste <(echo "$empty") <(echo "$recorded") | awk '
  { for (i = 1; i <= 3; ++i) printf "%-10s %6.1f ns empty  %6.1f ns recorded  %6.1f ns more\n",
      $(2 * i - 1), $(2 * i), $(2 * i + 6), $(2 * i + 6) - $(2 * i)
    for (i = 1; i <= 3; ++i) if ($(2 * i + 6) - $(2 * i) > 150) exit 1 }'
