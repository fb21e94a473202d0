#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording a call of MPI costs: calls that go nowhere, without and with the agent, with each
# implementation that is installed. The bar is 100 ns a call. Usage: bench/mpi_cost.sh BIN
set -euo pipefail
bin=$1
here=$(dirname "${BASH_SOURCE[0]}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
any=false missed=false
for name in openmpi mpich; do
  command -v "mpicc.$name" > /dev/null || continue
  any=true
  "mpicc.$name" -O2 -w "$here/mpi_cost.c" -o "$out/cost"
  alone=$("$out/cost")
  recorded=$("$bin/tracesmith" profile -q -b 256M -o "$out/cost.sbt" -- "$out/cost")
  paste <(echo "$alone") <(echo "$recorded") | awk -v name="$name" '
    { for (i = 1; i <= 3; ++i) printf "%-8s %-8s %6.1f ns alone  %6.1f ns recorded  %6.1f ns more\n",
        name, $(2 * i - 1), $(2 * i), $(2 * i + 6), $(2 * i + 6) - $(2 * i)
      for (i = 1; i <= 3; ++i) if ($(2 * i + 6) - $(2 * i) > 100) exit 1 }' || missed=true
done
$any || { echo "no MPI is installed: script/bootstrap cluster"; exit 0; }
! $missed
