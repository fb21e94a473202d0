#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `tracesmith analyze` beside Holistic Trace Analysis: see analyze_bench.py.
# Usage: bench/analyze_bench.sh BIN_DIR [EVENTS...]
set -euo pipefail

bin="$1" here="$(dirname "$0")"
shift
venv="$here/../build/hta-venv"
if [[ ! -x $venv/bin/python ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q HolisticTraceAnalysis==0.5.0
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for events in "${@:-100000 1000000}"; do
  for count in $events; do
    "$venv/bin/python" -B "$here/analyze_bench.py" "$bin" "$work" "$count"
  done
done
