#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a flight recorder costs beside a plain recording: see flight_recorder.py.
# Usage: bench/flight_recorder.sh BIN_DIR [LAUNCHES]
set -euo pipefail

PATH="$(cd "$1" && pwd):$PATH" python3 -B "$(dirname "$0")/flight_recorder.py" "${2:-60000}"
