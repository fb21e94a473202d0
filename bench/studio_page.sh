#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Studio with traces of 10 and 100 million events: memory, and pictures in Chromium; beside speedscope with one of a
# million: see studio_page.mjs. Usage: bench/studio_page.sh BIN_DIR
set -euo pipefail

bin="$1" root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/script/studio" >/dev/null
cmake --build "$bin/.." --target tracesmith-cli studio_bench large_trace_bench >/dev/null
PATH="$root/build/studio/venv/bin:$PATH"
peer="$root/build/studio/speedscope"
[[ -d $peer/node_modules/speedscope ]] ||
  npm install --prefix "$peer" --no-audit --no-fund --omit=optional speedscope@1.25.0 >/dev/null
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# A simulated second has about 42,000 events.
"$bin/tracesmith" record -p simulation -q -d 245 -o "$work/ten.sbt"
"$bin/tracesmith" record -p simulation -q -d 24 -o "$work/one.sbt"
"$bin/tracesmith" export -f speedscope -o "$work/one.json" "$work/one.sbt"
"$bin/studio_bench" "$work/ten.sbt"
"$bin/large_trace_bench" --write "$work/hundred.sbt" 100000000 >/dev/null
"$bin/studio_bench" "$work/hundred.sbt"
rm "$work/hundred.sbt"
node "$root/bench/studio_page.mjs" "$bin/tracesmith" "$work" "$peer/node_modules/speedscope/dist/release"
