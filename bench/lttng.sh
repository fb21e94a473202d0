#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Spans of a TracingSession beside LTTng-UST, in one run. Without LTTng (liblttng-ust-dev,
# lttng-tools) it says so. Usage: script/bench lttng
set -euo pipefail
bin="$1"
"$bin/session_bench"
if ! echo '#include <lttng/tracepoint.h>' | cc -E - >/dev/null 2>&1 || ! command -v lttng >/dev/null; then
  echo "LTTng-UST: not here (apt-get install liblttng-ust-dev lttng-tools)"
  exit 0
fi
work="$(mktemp -d /dev/shm/lttng_peer.XXXXXX)"
export LTTNG_HOME="$work"
session="tracesmith-peer-$$"
cleanup() {
  lttng destroy "$session" >/dev/null 2>&1 || true
  if [[ -n ${daemon:-} ]]; then kill "$daemon" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
cc -O2 -I bench -o "$work/peer" bench/lttng_peer.c -llttng-ust -ldl
daemon=""
if ! lttng list >/dev/null 2>&1; then
  lttng-sessiond --no-kernel >"$work/sessiond.log" 2>&1 &
  daemon=$!
  for _ in $(seq 50); do
    lttng list >/dev/null 2>&1 && break
    sleep 0.1
  done
fi
lttng create "$session" --output="$work/trace" >/dev/null
lttng enable-channel --userspace --session="$session" --subbuf-size=4M --num-subbuf=8 channel >/dev/null
lttng enable-event --userspace --session="$session" --channel=channel 'tracesmith_peer:*' >/dev/null
lttng start "$session" >/dev/null
"$work/peer"
lttng stop "$session" >/dev/null
lttng list "$session" | grep -i 'discarded' | head -n 1 | sed 's/^ */LTTng-UST: /'
