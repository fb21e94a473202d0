#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What Python pays for a trace of 10 M kernels, and for annotate(): see python_costs.py.
# Usage: bench/python_costs.sh BIN_DIR [KERNELS]
set -euo pipefail

bin="$1" kernels="${2:-10000000}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$bin/large_trace_bench" --write "$work/kernels.sbt" "$kernels" >/dev/null
PYTHONPATH="$bin/../python" "$(dirname "$0")/../build/venv/bin/python" -B "$(dirname "$0")/python_costs.py" \
  "$work/kernels.sbt"
