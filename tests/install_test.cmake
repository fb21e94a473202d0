# SPDX-License-Identifier: Apache-2.0
# Installs the build tree into an empty prefix, then configures, builds and runs tests/consumer
# against it. Needs a finished build of `all`.

set(work "${BUILD_DIR}/install_test")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

function(run what)
  execute_process(
    COMMAND ${ARGN}
    WORKING_DIRECTORY "${work}"
    RESULT_VARIABLE code
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("cmake --install" ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${work}/prefix")
foreach(file include/tracesmith/tracesmith.hpp include/tracesmith/base/result.hpp
             include/tracesmith/tracesmith.h lib/libtracesmith.so.1 lib/pkgconfig/tracesmith.pc
             lib/libtracesmith-base.a lib/libtracesmith-format.a
             lib/cmake/TraceSmith/TraceSmithConfig.cmake)
  if(NOT EXISTS "${work}/prefix/${file}")
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

# Few, no helpers of tests among them, and each can be included alone.
file(GLOB_RECURSE headers "${work}/prefix/include/*")
list(LENGTH headers count)
if(count GREATER 66 OR "${headers}" MATCHES "_(test|fuzz)_util")
  message(FATAL_ERROR "${count} headers are installed, 66 may be, without those of tests:\n${headers}")
endif()
run("include each header alone" sh -c "find prefix/include -name '*.hpp' | xargs -P 2 -I HEADER \
    '${CXX}' -std=c++20 -fsyntax-only -Iprefix/include -include HEADER -x c++ /dev/null")
run("include the umbrella" sh -c "echo '#include <tracesmith/tracesmith.hpp>' | '${CXX}' -std=c++20 -M -Iprefix/include -x c++ -")
if(output MATCHES "/iostream")
  message(FATAL_ERROR "tracesmith/tracesmith.hpp includes <iostream>")
endif()

if(EXPECT_CLI)
  foreach(program tracesmith tracesmith-cli)
    run("${program} version" "${work}/prefix/bin/${program}" version)
  endforeach()
  run("tracesmith info" "${work}/prefix/bin/tracesmith" info)
  # The installed command finds the installed agents, and the program's exit code is its own.
  execute_process(
    COMMAND "${work}/prefix/bin/tracesmith" profile -o "${work}/installed.sbt" -- sh -c "exit 7"
    RESULT_VARIABLE code
    ERROR_VARIABLE output)
  if(NOT code EQUAL 7 OR output MATCHES "not found|missing|cannot" OR NOT EXISTS "${work}/installed.sbt")
    message(FATAL_ERROR "installed profile ended with ${code} instead of 7:\n${output}")
  endif()
endif()

# A program in C, by pkg-config.
set(ENV{PKG_CONFIG_PATH} "${work}/prefix/lib/pkgconfig")
run("pkg-config" pkg-config --cflags --libs tracesmith)
separate_arguments(flags UNIX_COMMAND "${output}")
run("compile a program in C" ${CC} -std=c99 "${SOURCE_DIR}/c_api/tour.c" ${flags}
    "-Wl,-rpath,${work}/prefix/lib" -o "${work}/tour")
run("run it" "${work}/tour")
file(READ "${SOURCE_DIR}/../docs/rust_and_c.md" page)
string(REGEX MATCH "```c\n([^`]*)```" block "${page}")
file(WRITE "${work}/total.c" "${CMAKE_MATCH_1}")
run("compile the page's program" sh -c "cc -std=c99 total.c $(pkg-config --cflags --libs tracesmith) -o total")
if(EXPECT_CLI)
  run("make a trace" "${work}/prefix/bin/tracesmith" record -q -p simulation -d 1 -o "${work}/simulated.sbt")
  set(ENV{LD_LIBRARY_PATH} "${work}/prefix/lib")
  run("run the page's program" "${work}/total" "${work}/simulated.sbt")
  set(ENV{LD_LIBRARY_PATH} "")
  if(NOT output MATCHES "[1-9][0-9]* kernels")
    message(FATAL_ERROR "the page's program did not count kernels:\n${output}")
  endif()
endif()

# The program of one page, built as another says.
file(READ "${SOURCE_DIR}/../docs/getting_started.md" page)
string(REGEX MATCH "```cpp\n([^`]*)```" block "${page}")
# What the simulation makes up happens as time goes by.
string(REPLACE "// ... work ..." "std::this_thread::sleep_for(std::chrono::milliseconds(100));" block "${CMAKE_MATCH_1}")
file(WRITE "${work}/started/app.cpp" "#include <chrono>\n#include <thread>\n${block}")
file(READ "${SOURCE_DIR}/../docs/installation.md" page)
string(REGEX MATCH "```cmake\n(find_package[^`\n]*)\n([^`]*)```" block "${page}")
file(WRITE "${work}/started/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)\nproject(app CXX)\n${CMAKE_MATCH_1}\n"
     "add_executable(app app.cpp)\n${CMAKE_MATCH_2}")
run("configure the page's program" ${CMAKE_COMMAND} -S "${work}/started" -B "${work}/started" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}")
run("build the page's program" ${CMAKE_COMMAND} --build "${work}/started")
run("run the page's program" "${work}/started/app")
if(EXPECT_CLI)
  run("read its trace" "${work}/prefix/bin/tracesmith" query --csv "${work}/run.sbt" "SELECT count(*) FROM kernel")
  if(NOT output MATCHES "[1-9]")
    message(FATAL_ERROR "the page's program captured no kernels:\n${output}")
  endif()
endif()

run("configure the consumer" ${CMAKE_COMMAND} -S "${SOURCE_DIR}/consumer" -B "${work}/consumer"
    -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}")
run("build the consumer" ${CMAKE_COMMAND} --build "${work}/consumer")
run("run the consumer" "${work}/consumer/consumer" "${work}/consumer.sbt")
if(NOT output MATCHES "read back 2 events")
  message(FATAL_ERROR "the consumer did not read back what it wrote:\n${output}")
endif()
