#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What profile --system costs a program, and how large its rows are. Usage: bench/system_cost.sh BIN
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
gcc -O2 -pthread "$here/system_cost.c" -o "$out/cost"
python3 -B "$here/system_cost.py" "$1/tracesmith" "$out/cost"
