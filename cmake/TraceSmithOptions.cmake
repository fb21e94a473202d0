# SPDX-License-Identifier: Apache-2.0
# Options, compiler settings and the libraries that the rooms use.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Other systems have the half that needs no running program. On Linux it can be built as well, to see that it stands
# by itself.
set(only_reads ON)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(only_reads OFF)
endif()
option(TRACESMITH_READING_ONLY "Only what reads traces: no capture, no replay, no Studio" ${only_reads})
option(TRACESMITH_BUILD_CLI "Build the tracesmith command" ON)
option(TRACESMITH_BUILD_TESTS "Build the tests" ON)
option(TRACESMITH_BUILD_EXAMPLES "Build the example programs" ON)
option(TRACESMITH_BUILD_PYTHON "Build the Python module (needs nanobind 2)" OFF)
option(TRACESMITH_BUILD_FUZZERS "Build the libFuzzer targets (clang only)" OFF)
if(TRACESMITH_READING_ONLY)
  if(TRACESMITH_BUILD_PYTHON OR TRACESMITH_BUILD_FUZZERS)
    message(FATAL_ERROR "TRACESMITH_BUILD_PYTHON and TRACESMITH_BUILD_FUZZERS need what TRACESMITH_READING_ONLY leaves "
                        "out: switch them off, or it")
  endif()
  # They are of the whole.
  set(TRACESMITH_BUILD_TESTS OFF)
  set(TRACESMITH_BUILD_EXAMPLES OFF)
endif()
option(TRACESMITH_USE_PERFETTO_SDK "Accepted, not needed: traces are encoded without an SDK" OFF)
option(TRACESMITH_WERROR "Treat compiler warnings as errors" OFF)
set(TRACESMITH_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address;undefined")
if(NOT TRACESMITH_READING_ONLY)
  include(TraceSmithVendors)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# bin/ and lib/tracesmith/ lie as they do after install, so the command finds its agents either way.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/tracesmith")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_compile_options(-Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees them in its own <string>, <regex> and <optional> once it optimises or sanitizes.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
  # Its garbage collector takes a seventh of the time of a build, for a fifth less memory.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1500000>)
endif()
if(TRACESMITH_WERROR)
  add_compile_options(-Werror)
endif()

# As the folder began: another command line would build everything again.
if(NOT DEFINED TRACESMITH_CCACHE)
  find_program(TRACESMITH_CCACHE ccache)
endif()
mark_as_advanced(TRACESMITH_CCACHE)
if(TRACESMITH_CCACHE)
  # With precompiled headers it caches only if it need not know whether they use __TIME__; and another
  # clone's objects fit if paths below the source are relative.
  set(CMAKE_C_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      "CCACHE_SLOPPINESS=pch_defines,time_macros" "${TRACESMITH_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

if(WIN32)
  # What POSIX has and the system lacks (base/windows); sizes of 64 bits; no macros named min and max.
  include_directories(BEFORE "${PROJECT_SOURCE_DIR}/src/tracesmith/base/windows/include")
  add_compile_definitions(_FILE_OFFSET_BITS=64 NOMINMAX WIN32_LEAN_AND_MEAN)
  link_libraries(bcrypt)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
if(NOT TRACESMITH_READING_ONLY)
  find_package(Boost 1.81 REQUIRED CONFIG COMPONENTS headers)
endif()
# SQLite's archive, where the system has one: a query of ten million rows calls within SQLite some
# billion times, which costs a fifth less without the jump tables of a shared library.
option(TRACESMITH_STATIC_SQLITE "Link SQLite's archive where there is one" ON)
find_package(SQLite3 REQUIRED)
find_library(TRACESMITH_SQLITE_ARCHIVE libsqlite3.a)
mark_as_advanced(TRACESMITH_SQLITE_ARCHIVE)
add_library(tracesmith-sqlite INTERFACE)
if(TRACESMITH_STATIC_SQLITE AND TRACESMITH_SQLITE_ARCHIVE)
  # A library that is loaded (TRACESMITH_LOADED) cannot have the archive in it.
  target_link_libraries(
    tracesmith-sqlite
    INTERFACE
      "$<IF:$<BOOL:$<TARGET_PROPERTY:TRACESMITH_LOADED>>,SQLite::SQLite3,${TRACESMITH_SQLITE_ARCHIVE}>"
      Threads::Threads ${CMAKE_DL_LIBS} m)
else()
  target_link_libraries(tracesmith-sqlite INTERFACE SQLite::SQLite3)
endif()
# What rooms that need it depend on.
set(TRACESMITH_SQLITE "$<BUILD_INTERFACE:tracesmith-sqlite>" "$<INSTALL_INTERFACE:SQLite::SQLite3>")
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(expat REQUIRED IMPORTED_TARGET expat)
# GCC's demangler: that of the C++ library is older where the compiler is, and writes otherwise where it is not GCC's.
option(TRACESMITH_USE_LIBIBERTY "Decode names of C++ by GCC's newest demangler, where libiberty is there" ON)
find_library(TRACESMITH_LIBIBERTY libiberty.a)
mark_as_advanced(TRACESMITH_LIBIBERTY)
if(TRACESMITH_USE_LIBIBERTY AND TRACESMITH_LIBIBERTY)
  # Debian's says its version nowhere else.
  pkg_check_modules(libiberty QUIET libiberty)
  if(NOT libiberty_FOUND)
    set(libiberty_VERSION "of unknown version")
    execute_process(
      COMMAND dpkg-query -W -f "\${source:Upstream-Version}" libiberty-dev
      RESULT_VARIABLE code OUTPUT_VARIABLE version ERROR_QUIET)
    if(code EQUAL 0)
      set(libiberty_VERSION "${version}")
    endif()
  endif()
endif()
if(WIN32)
  # POSIX regular expressions, which the C library of other systems has.
  pkg_check_modules(tre REQUIRED IMPORTED_TARGET tre)
endif()
# Without it call stacks stay addresses; everything else is the same.
option(TRACESMITH_USE_LIBDW "Name the frames of call stacks, where libdw of elfutils is there" ON)
if(TRACESMITH_USE_LIBDW)
  pkg_check_modules(libdw IMPORTED_TARGET libdw)
endif()
# Without it the prompt of `query` reads plain lines.
option(TRACESMITH_USE_LIBEDIT "Edit lines at the prompt of query, where libedit is there" ON)
# Without it `view --timeline` has no --interactive.
option(TRACESMITH_USE_NCURSES "Interactive timeline, where ncurses (wide characters) is there" ON)
if(TRACESMITH_BUILD_CLI)
  if(NOT TRACESMITH_READING_ONLY)
    pkg_check_modules(png REQUIRED IMPORTED_TARGET libpng)
  endif()
  if(TRACESMITH_USE_LIBEDIT)
    pkg_check_modules(libedit IMPORTED_TARGET libedit)
  endif()
  if(TRACESMITH_USE_NCURSES)
    pkg_check_modules(ncursesw IMPORTED_TARGET ncursesw)
  endif()
endif()
