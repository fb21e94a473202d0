#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of Studio's page in Chromium. Exit code 77: skipped, because this machine has no Chromium that
# starts, or script/studio was not run.
# Usage: studio_browser_test.sh FOLDER_OF_THE_COMMAND [FILE]   FILE: of studio/browser, without .test.mjs (default: all)
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
node="$root/build/studio/venv/bin/node"
export CHROMIUM="${CHROMIUM:-/usr/bin/chromium}" TRACESMITH_BIN="$1"
skip() { echo "skipped: $*" && exit 77; }
[[ -x $node && -d $root/studio/node_modules/playwright-core ]] || skip "script/studio was not run"
[[ -x $CHROMIUM ]] || skip "there is no $CHROMIUM"
timeout 60 "$CHROMIUM" --headless --no-sandbox --disable-dev-shm-usage --dump-dom about:blank >/dev/null 2>&1 ||
  skip "$CHROMIUM does not start here"
files=("$root"/studio/browser/*.test.mjs)
[[ $# -lt 2 ]] || files=("$root/studio/browser/$2.test.mjs")
exec "$node" --test --test-concurrency=1 "${files[@]}"
