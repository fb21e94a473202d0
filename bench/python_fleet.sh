#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many traces of 1 MB on workers: see python_fleet.py.
# Usage: bench/python_fleet.sh BIN_DIR [TRACES]
set -euo pipefail

bin="$1" traces="${2:-1000}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/traces"
for ((i = 0; i < traces; i++)); do
  "$bin/large_trace_bench" --write "$work/traces/rank-$i.sbt" 200000 >/dev/null
done
PYTHONPATH="$bin/../python" "$(dirname "$0")/../build/venv/bin/python" -B "$(dirname "$0")/python_fleet.py" \
  "$work/traces"
