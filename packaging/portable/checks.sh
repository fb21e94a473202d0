# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by script/packages: whether the tarballs work where they would be used.
# shellcheck disable=SC2154 # place, bare, bin and root are the script's

oldest=2.27 # the C library of Ubuntu 18.04, the oldest system at hand that is tried

make_tarball() { packaging/portable/tarball "$1-linux-gnu.$oldest"; }
oldest_macos=13.0

tarball_of() { printf '%s' "$place"/tarballs/tracesmith-*-linux-"$1".tar.gz; }

# Another clone, elsewhere, makes the same file.
tarball_again() {
  local again="$place/again" commit
  commit="$(git rev-parse HEAD)"
  git diff --quiet HEAD || { echo "only a commit can be built again: there are changes" && return 1; }
  rm -rf "$again"
  git clone -q "$root" "$again"
  git -C "$again" -c advice.detachedHead=false checkout -q "$commit"
  mkdir -p "$again/build/packages/portable"
  ln -s "$root/build/studio" "$again/build/studio"
  ln -s "$place/portable/sources" "$place/portable/zig" "$again/build/packages/portable/"
  "$again/packaging/portable/tarball" "x86_64-linux-gnu.$oldest"
  cmp "$(tarball_of x86_64)" "$again"/build/packages/tarballs/*-x86_64.tar.gz
}

# Nothing that the oldest C library lacks, and nothing of this machine.
needs_only_the_oldest() {
  local folder="$place/unpacked-$1" newest
  rm -rf "$folder" && mkdir -p "$folder"
  tar -C "$folder" -xf "$(tarball_of "$1")"
  newest="$(find "$folder" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec readelf -W --dyn-syms {} + 2>/dev/null |
    grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)"
  echo "needs glibc $newest"
  [[ $(printf '%s\n' "$newest" "$oldest" | sort -V | tail -n 1) == "$oldest" ]]
  ! grep -rlF "$root" "$folder"
}

# The demo, compiled for the oldest C library.
make_portable_demo() {
  local target="$place/portable/x86_64-linux-gnu.$oldest"
  "$target/bin/c++" -std=c++20 -O2 -isystem "$target/libraries/include" examples/opencl_demo/*.cpp \
    -Wl,--allow-shlib-undefined /usr/lib/x86_64-linux-gnu/libOpenCL.so.1 -o "$place/opencl_demo"
}

# In a folder with a space, by a user without rights, who has nothing but tar.
tarball_works() {
  grep -F "VERSION_CODENAME=${bare##*/}" "$bare/etc/os-release"
  cp "$(tarball_of x86_64)" "$bare/var/tmp/tracesmith.tar.gz"
  cp "$place/opencl_demo" "$bare/home/a user/"
  as_user 'mkdir "my tools"; tar -C "my tools" --strip-components=1 -xf /var/tmp/tracesmith.tar.gz'
  # shellcheck disable=SC2034 # as_user reads it
  local user_path='/home/a user/my tools/bin:'
  as_user 'tracesmith profile --record --stacks -o run.sbt -- ./opencl_demo'
  as_user 'tracesmith view --stats run.sbt' | grep matrixMul
  as_user 'tracesmith analyze run.sbt' >/dev/null
  as_user 'tracesmith query run.sbt "SELECT count(*) FROM kernel"' | grep -w 3
  as_user 'tracesmith symbolize run.sbt'
  as_user 'tracesmith report run.sbt -o report.html'
  as_user 'tracesmith replay --verify run.sbt'
  as_user 'tracesmith devices' | grep 'Can be recorded here: OpenCL'
}

# The tests of the command, with that of the tarball in place of the one that was built here.
tests_pass_with_tarball() {
  local folder="$place/tried" test failures=0
  rm -rf "$folder" && mkdir -p "$folder/bin"
  ln -s "$bin"/* "$folder/bin/"
  tar -C "$folder" -xf "$(tarball_of x86_64)"
  ln -s "$folder"/tracesmith-*-linux-x86_64/lib "$folder/lib"
  ln -sf "$folder"/tracesmith-*-linux-x86_64/bin/* "$folder/bin/"
  for test in tests/cli/*_test.py; do
    TRACESMITH_BIN="$folder/bin" PYTHONPATH=tests/cli timeout 600 python3 -B "$test" >"$folder/log" 2>&1 && continue
    failures=$((failures + 1))
    printf '%s failed:\n' "$test"
    tail -n 30 "$folder/log"
  done
  ((failures == 0))
}

# What reads does so on another processor, too, with the same answers.
reads_on_aarch64() {
  local command="$place/unpacked-aarch64" trace="$place/tried/run.sbt" asked
  command="$(echo "$command"/tracesmith-*/bin/tracesmith)"
  "$bin/tracesmith" profile -q -o "$trace" -- "$bin/opencl_demo"
  other() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$command" "$@"; }
  for asked in 'info' 'view --stats' 'analyze' 'whatif --scale kernel=matrixMul:0.5'; do
    # shellcheck disable=SC2086 # a subcommand and its options
    set -- $asked
    echo "$asked"
    cmp <("$bin/tracesmith" "$1" "$trace" "${@:2}") <(other "$1" "$trace" "${@:2}")
  done
  other query "$trace" 'SELECT count(*) FROM kernel' | grep -w 3
  other export "$trace" -o "$place/tried/a.pftrace"
  "$bin/tracesmith" export "$trace" -o "$place/tried/x.pftrace"
  cmp "$place/tried/a.pftrace" "$place/tried/x.pftrace"
  other import "$place/tried/x.pftrace" -o "$place/tried/imported.sbt"
  other report "$trace" -o "$place/tried/a.html"
}

# Homebrew is not to be had here: its steps are done without it.
formula_installs() {
  packaging/homebrew/formula
  ruby -c "$place/tarballs/tracesmith.rb"
  ruby packaging/homebrew/try_formula.rb "$place/tarballs/tracesmith.rb" "$place/brew" | grep 'Can be recorded here'
}

# What reads, under Wine: as a user would have it, with a folder and files whose names are not ASCII, then with the same
# questions as the whole build (20 traces of other tools and more, where there are any).
reads_on_windows() {
  local folder="$place/ein Ordner für Übung" trace='Läufe 1.sbt' asked
  export WINEPREFIX="$place/wine" WINEDEBUG=-all
  mkdir -p "$WINEPREFIX" # the server does not
  # One server for all commands: to start one takes ten times as long as most commands.
  /usr/lib/wine/wineserver64 -k || true # there may be none; one that is ending would serve nobody
  /usr/lib/wine/wineserver64 -p
  trap '/usr/lib/wine/wineserver64 -k' EXIT
  rm -rf "$folder" && mkdir -p "$folder"
  unzip -q "$(echo "$place"/tarballs/tracesmith-*-windows-x86_64.zip)" -d "$folder"
  mv "$folder"/tracesmith-* "$folder/tools"
  windows() { /usr/lib/wine/wine64 "$folder/tools/bin/tracesmith.exe" "$@"; }
  cd "$folder" || return
  "$bin/tracesmith" record -q -p simulation -d 0.1 -o "$trace"
  for asked in 'info' 'view --stats' 'analyze' 'whatif --scale kernel=.:0.5'; do
    # shellcheck disable=SC2086 # a subcommand and its options
    set -- $asked
    echo "$asked"
    cmp <("$bin/tracesmith" "$1" "$trace" "${@:2}") <(windows "$1" "$trace" "${@:2}")
  done
  "$bin/tracesmith" export "$trace" -o there.json
  windows export "$trace" -o hier.json
  cmp there.json hier.json
  windows export "$trace" -o "Übung.pftrace"
  windows import "Übung.pftrace" -o "Übung.sbt"
  windows export "$trace" -o - --format perfetto | windows import - -o "piped.sbt"
  cmp <(windows query "Übung.sbt" 'SELECT count(*) FROM kernel') <(windows query piped.sbt 'SELECT count(*) FROM kernel')
  windows version --long
  cd "$root" || return
  python3 -B tests/reading/same_answers.py "$bin/tracesmith" "/usr/lib/wine/wine64 '$folder/tools/bin/tracesmith.exe'" \
    "${TRACESMITH_TEST_DATA:-$root/../shared}/traces"
}

# Only what every system has is linked. It is not run: there is no such system here.
links_for_macos() {
  local folder="$place/unpacked-macos-$1"
  rm -rf "$folder" && mkdir -p "$folder"
  tar -C "$folder" -xf "$(echo "$place"/tarballs/tracesmith-*-macos-"$1".tar.gz)"
  file "$folder"/tracesmith-*/bin/tracesmith | grep -E 'Mach-O 64-bit (arm64|x86_64) executable'
  # What its load commands say: the libraries (LC_LOAD_DYLIB) and the oldest system (LC_BUILD_VERSION).
  python3 - "$folder"/tracesmith-*/bin/tracesmith "$oldest_macos" <<'EOF'
import struct, sys
with open(sys.argv[1], "rb") as file:
    data = file.read()
at, libraries, oldest = 32, [], None
for _ in range(struct.unpack_from("<I", data, 16)[0]):
    command, size = struct.unpack_from("<II", data, at)
    if command == 0xC:
        libraries.append(data[at + struct.unpack_from("<I", data, at + 8)[0]:at + size].rstrip(b"\0").decode())
    if command == 0x32:
        version = struct.unpack_from("<I", data, at + 12)[0]
        oldest = f"{version >> 16}.{version >> 8 & 255}"
    at += size
print(libraries, oldest)
assert libraries == ["/usr/lib/libSystem.B.dylib"] and oldest == sys.argv[2]
EOF
  ! grep -rlF "$root" "$folder"
}

test_other_systems() {
  local processor
  say "Windows and macOS: what reads traces"
  if [[ ! -x $bin/tracesmith ]]; then # what its answers are compared with
    quietly build/log/packages-configure.log cmake --preset release -DTRACESMITH_BUILD_TESTS=OFF
    quietly build/log/packages-build.log cmake --build --preset release -j "$(jobs_that_fit)"
  fi
  check "zip for Windows" packaging/portable/tarball x86_64-windows-gnu
  check "the same answers on Windows" reads_on_windows
  for processor in aarch64 x86_64; do
    check "tarball for macOS on $processor" packaging/portable/tarball "$processor-macos.$oldest_macos"
    check "what it needs on macOS, $processor" links_for_macos "$processor"
  done
  ls -l "$place"/tarballs/*windows* "$place"/tarballs/*macos*
}

test_tarballs() {
  local suite
  say "tarballs for glibc $oldest or newer"
  script/studio
  if [[ ! -x $bin/opencl_demo ]]; then # the program that is recorded
    quietly build/log/packages-configure.log cmake --preset release -DTRACESMITH_BUILD_TESTS=OFF
    quietly build/log/packages-build.log cmake --build --preset release -j "$(jobs_that_fit)"
  fi
  for suite in x86_64 aarch64; do
    check "tarball for $suite" make_tarball "$suite"
    check "what it needs on $suite" needs_only_the_oldest "$suite"
  done
  check "a demo for the oldest system" make_portable_demo
  for suite in bionic bookworm trixie; do
    use_bare "$suite"
    check "a bare $suite for the tarball" make_bare
    check "the tarball in $suite" tarball_works
  done
  check "the tests of the command with it" tests_pass_with_tarball
  check "the same answers on aarch64" reads_on_aarch64
  check "a formula for Homebrew" formula_installs
  check "the same bytes from another clone" tarball_again
  ls -l "$place"/tarballs/*.tar.gz
}
