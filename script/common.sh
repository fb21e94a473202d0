# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share: sourced, never run. Leaves the caller in the project's root.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root" || exit

say() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# A C++ compiler may want 1.5 GB; more of them than fit in memory would be killed one by one.
jobs_that_fit() {
  local cores memory_kb fit
  cores="$(nproc)"
  memory_kb="$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)"
  fit=$(((${memory_kb:-3000000}) / 1500000))
  ((fit < 1)) && fit=1
  echo $((fit < cores ? fit : cores))
}

# quietly LOG COMMAND...: keeps the output in LOG and shows its end only when the command fails.
quietly() {
  local log="$1"
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 && return 0
  local code=$?
  printf '%s failed (%d); the last lines of %s:\n' "$1" "$code" "$log" >&2
  tail -n 40 "$log" >&2
  return "$code"
}

# one_at_a_time NAME: waits while another script holds this lock. It is released when the caller ends.
one_at_a_time() {
  local lock
  mkdir -p build
  exec {lock}>"build/$1.lock"
  flock "$lock"
}

# unpack_package NAME PROGRAM: unpacks a Debian package into build/NAME, unless PROGRAM is there already. Ends the caller
# with 77 where there is no such package.
unpack_package() {
  one_at_a_time "$1"
  [[ ! -x build/$1/$2 ]] || return 0
  local partial
  partial="$(mktemp -d "build/$1.XXXXXX")"
  chmod 755 "$partial" # mktemp's is for its owner alone, and apt fetches as another user
  (cd "$partial" && quietly fetch.log apt-get -q -o Acquire::Retries=3 download "$1") || {
    rm -rf "$partial"
    printf '%s: cannot fetch the package (apt-get update may help)\n' "$(basename "$0")" >&2
    exit 77
  }
  dpkg -x "$partial/$1"_*.deb "$partial/root"
  rm -rf "build/$1"
  mv "$partial/root" "build/$1"
  rm -rf "$partial"
}

# Every C++ file of the project. The snippets in tests/request/cases stay as their documents show them.
cpp_files() {
  find src include examples python tests -type f ! -path 'tests/request/cases/*' \( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \) | sort
}

# Every shell script of the project.
shell_files() {
  {
    find script .ci -type f ! -name '*.md' ! -name '*.py' ! -name '*.txt' -exec grep -L '^#!.*python' {} +
    grep -rlE '^#!/usr/bin/env bash|^# shellcheck shell=bash' packaging
    find tests examples bench -type f ! -path 'tests/request/cases/*' -name '*.sh'
  } | sort
}
