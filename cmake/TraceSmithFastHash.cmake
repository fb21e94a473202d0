# SPDX-License-Identifier: Apache-2.0
# Hashing must be as fast as memory in every build type. On x86-64, it checks for AVX2 at run time; on
# other processors, hash128_avx2.cpp is compiled without AVX2 and offers nothing.
# To be included after all folders whose targets compile these files.
set(_hash "${PROJECT_SOURCE_DIR}/src/tracesmith/base/hash128.cpp"
          "${PROJECT_SOURCE_DIR}/src/tracesmith/base/hash128_avx2.cpp")
set(_folders "${PROJECT_SOURCE_DIR}")
if(NOT TRACESMITH_READING_ONLY)
  list(APPEND _folders "${PROJECT_SOURCE_DIR}/src/tracesmith/capture/agents")
endif()
set_source_files_properties(
  ${_hash} DIRECTORY ${_folders} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON
                                            COMPILE_OPTIONS -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(GET _hash 1 _avx2)
  set_source_files_properties(${_avx2} DIRECTORY ${_folders} PROPERTIES COMPILE_OPTIONS "-O3;-mavx2")
endif()
