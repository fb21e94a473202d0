# SPDX-License-Identifier: Apache-2.0
# Sanitizers for everything that is created after this point.

if(TRACESMITH_SANITIZE)
  string(REPLACE ";" "," _sanitizers "${TRACESMITH_SANITIZE}")
  add_compile_options(-fsanitize=${_sanitizers} -fno-omit-frame-pointer)
  if(_sanitizers MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  add_link_options(-fsanitize=${_sanitizers})
  tracesmith_feature("Sanitizers" TRUE "${_sanitizers}")
else()
  tracesmith_feature("Sanitizers" FALSE "TRACESMITH_SANITIZE is empty")
endif()

if(TRACESMITH_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TRACESMITH_BUILD_FUZZERS needs clang (libFuzzer); the compiler is "
                        "${CMAKE_CXX_COMPILER}. Use: cmake --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  tracesmith_feature("Fuzzers" TRUE "libFuzzer")
else()
  tracesmith_feature("Fuzzers" FALSE "TRACESMITH_BUILD_FUZZERS is OFF")
endif()
