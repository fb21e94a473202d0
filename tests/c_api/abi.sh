#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The interface is that of abi_1.txt: sizes, places, values (what c_api_layout prints) and functions.
# What is there must stay; for what was added, renew the file: abi.sh --write LAYOUT HEADER
# Usage: abi.sh [--write] LAYOUT HEADER
set -euo pipefail
kept="$(dirname "${BASH_SOURCE[0]}")/abi_1.txt"
write=false
[[ $1 != --write ]] || { write=true && shift; }
now() {
  "$1"
  echo "# functions"
  tr '\n' ' ' <"$2" | grep -o 'TRACESMITH_API [^;]*;' | sed 's/  */ /g; s/TRACESMITH_API //' | LC_ALL=C sort
}
if $write; then
  now "$1" "$2" >"$kept"
else
  diff "$kept" <(now "$1" "$2") ||
    { echo "the interface is not that of $kept: only additions are allowed, and then the file is renewed" && exit 1; }
fi
