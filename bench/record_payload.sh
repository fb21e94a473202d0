#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast a recording takes payload of which no two chunks are the same and none can be compressed,
# beside how fast the disk takes as many such bytes from a plain program, before and after; and the
# memory of both sides on the way. Bars: 500 MB/s or the disk's speed; memory that does not grow.
# Usage: bench/record_payload.sh BIN_DIR [MIB]     (default: 10240 MiB; takes 1.1 times that of disk)
set -euo pipefail

bin="$1" mib="${2:-${TRACESMITH_PAYLOAD_MIB:-10240}}"
work="$(mktemp -d "${TMPDIR:-/tmp}/record_payload.XXXXXX")"
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR="$work/pocl_cache"
mkdir -p "$POCL_CACHE_DIR"
unset OPENCL_LAYERS
mib=$(((mib + 255) / 256 * 256)) # what is written at once below
free="$(df --output=avail -BM "$work" | tail -n 1 | tr -dc 0-9)"
if ((free < mib + mib / 10)); then
  echo "$work has $free MiB free, too few for $mib MiB"
  exit 1
fi

since() { awk -v ns="$(($(date +%s%N) - $1))" 'BEGIN {printf "%.3f", ns / 1e9}'; }
speed() { awk -v mib="$mib" -v s="$1" 'BEGIN {printf "%.0f", mib * 1.048576 / s}'; }

# disk: the MB/s of writing it all and bringing it to the device, as the recording does at its end.
head -c $((256 << 20)) /dev/urandom >"$work/random"
disk() {
  local begin done=0
  begin="$(date +%s%N)"
  for (( ; done < mib; done += 256)); do
    dd if="$work/random" of="$work/disk" bs=4M oflag=append \
      conv="notrunc$( ((done + 256 < mib)) || echo ,fdatasync)" status=none
  done
  speed "$(since "$begin")"
  rm -f "$work/disk"
}
# memory PID FILE: a line with what it has in memory, in MiB, five times a second.
memory() {
  while awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$1/status" 2>/dev/null >>"$2"; do sleep 0.2; done
}
# grown FILE: the most in the first fifth of the time, and in all of it.
grown() {
  awk '{v[NR] = $1} END {for (i = 1; i <= NR; i++) {if (v[i] > all) all = v[i]; if (i <= NR / 5 + 1 && v[i] > first) first = v[i]}
    printf "at most %d MiB in the first fifth of the time, %d MiB in all of it", first, all}' "$1"
}

"$bin/cl_upload" 32 # the driver starts once
before="$(disk)"
begin="$(date +%s%N)"
"$bin/tracesmith" profile --record -o "$work/upload.sbt" -- "$bin/cl_upload" "$mib" >"$work/said" 2>&1 &
collector=$!
memory "$collector" "$work/collector" &
program=""
while [[ -z $program && -d /proc/$collector ]]; do program="$(pgrep -P "$collector" -x cl_upload || true)"; done
memory "${program:-0}" "$work/program" &
wait "$collector"
seconds="$(since "$begin")"
wait
size="$(stat -c %s "$work/upload.sbr")"
rm -f "$work/upload.sbr"
after="$(disk)"
recorded="$(speed "$seconds")"
echo "$mib MiB of distinct payload that cannot be compressed:"
printf '  recorded   %s MB/s (%s s; %s bytes)\n' "$recorded" "$seconds" "$size"
printf '  the disk   %s MB/s before, %s MB/s after (the same bytes by dd conv=fdatasync)\n' "$before" "$after"
printf '  collector  %s\n' "$(grown "$work/collector")"
printf '  program    %s\n' "$(grown "$work/program")"
sed -n "s|$work/||; s/^tracesmith: \(recorded [0-9]\)/  \1/p" "$work/said"
# A disk under other load is not the same twice: a tenth is within what it varies by.
slower="$((before < after ? before : after))"
if ((recorded < 500 && recorded * 10 < slower * 9)); then
  echo "below the bar"
  exit 1
fi
