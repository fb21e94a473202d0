#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real MPI ranks, one slowed by three times the noise of the same run: how often `analyze` names the right one and kind,
# and how often it names any where none is slowed. Usage: bench/straggler_runs.sh BIN [RUNS]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v mpicc.openmpi > /dev/null || { echo "Open MPI is not installed: script/bootstrap cluster"; exit 0; }
TRACESMITH_BIN=$1 exec python3 -B "$here/../tests/mpi/straggler_test.py" "${2:-50}"
