#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the unwinder and the agents for AArch64, and runs the unwinder's exactness tests on an
# emulated one. Usage: aarch64.sh DIRECTORY CORE_SOURCE...   DIRECTORY: what it builds goes there;
# CORE_SOURCE: the files of the target tracesmith-agent-core. Exit code 77 without the tools:
# g++-12-aarch64-linux-gnu, qemu-user, googletest.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
out="$1"
shift
cxx=aarch64-linux-gnu-g++-12
libc=/usr/aarch64-linux-gnu
gtest=/usr/src/googletest
for tool in "$cxx" qemu-aarch64 "$libc/lib/libc.so.6" "$gtest/googletest/src/gtest-all.cc"; do
  command -v "$tool" >/dev/null || [[ -e $tool ]] || {
    echo "skipped: there is no $tool"
    exit 77
  }
done
mkdir -p "$out/include"
cd "$out"
# The headers of OpenCL and xxHash are the same for all machines.
ln -sfn /usr/include/CL include/CL
ln -sf /usr/include/xxhash.h include/xxhash.h

flags=(-std=c++20 -O2 -g1 -Wall -Wextra -Werror -Wno-missing-field-initializers -fPIC "-I$root/src" -Iinclude)
objects=()
compile() { # source, flags...
  local source="$1" object
  shift
  object="$(tr / _ <<<"${source#"$root/"}").o"
  objects+=("$object")
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || exit 1; done
  [[ $object -nt $source && -z $(find "$root/src" -name '*.hpp' -newer "$object" -print -quit) ]] ||
    "$cxx" "$@" -c "$source" -o "$object" &
}
finish() {
  local job
  for job in $(jobs -p); do wait "$job" || exit 1; done
}

agent=(-fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden)
shared=(-shared -static-libgcc -static-libstdc++ -Xlinker --no-undefined)
stacks="$root/src/tracesmith/stacks"
agents="$root/src/tracesmith/capture/agents"
for source in "$@"; do
  [[ $source == /* ]] || source="$agents/$source"
  compile "$source" "${flags[@]}" "${agent[@]}"
done
core_objects=("${objects[@]}")
for source in "$agents"/core/opencl_loaders.cpp "$agents"/opencl/*.cpp; do
  [[ $source == *_test.cpp ]] || compile "$source" "${flags[@]}" "${agent[@]}"
done
finish
"$cxx" "${shared[@]}" "${objects[@]}" -o libtracesmith-opencl.so

objects=()
for source in "$agents"/process/*.cpp "$root"/src/tracesmith/base/linux/guarded_mappings.cpp; do
  compile "$source" "${flags[@]}" "${agent[@]}"
done
finish
"$cxx" "${shared[@]}" "${objects[@]}" -o libtracesmith-process.so

objects=()
for source in googletest/src/gtest-all.cc googlemock/src/gmock-all.cc googlemock/src/gmock_main.cc; do
  compile "$gtest/$source" -std=c++20 -O1 "-I$gtest/googletest" "-I$gtest/googlemock" \
    "-I$gtest/googletest/include" "-I$gtest/googlemock/include"
done
for name in call_path_cache_test call_path_machine_test; do
  compile "$stacks/unwind/$name.cpp" "${flags[@]}" -O1 "-I$gtest/googletest/include" \
    "-I$gtest/googlemock/include"
done
finish
"$cxx" "${core_objects[@]}" "${objects[@]}" -pthread -o call_path_tests
timeout 240 qemu-aarch64 -L "$libc" ./call_path_tests --gtest_brief=1
