#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library has the functions of its header, each with the version of the ABI, and nothing else.
# Usage: symbols.sh LIBRARY HEADER
set -euo pipefail
declared="$(tr '\n' ' ' <"$2" | grep -o 'TRACESMITH_API [^;]*;' | grep -o 'tracesmith_[a-z_]*(' | sed 's/($/@@TRACESMITH_1/' | sort)"
there="$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort)"
[[ -n $declared ]]
diff <(echo "$declared") - <<<"$there"
echo "$(wc -l <<<"$declared") functions"
