#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How far off `clock measure` is over a network of known delays with clocks of known drift, and
# whether its bounds hold; ptp4l on the same network beside it. Usage: bench/clock_bounds.sh BIN
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
script/linuxptp || (($? == 77))
python3 -B "$here/clock_bounds.py" "$1" || {
  code=$?
  ((code == 77)) || exit "$code" # 77: this machine has no such namespaces
}
