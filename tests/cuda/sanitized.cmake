# SPDX-License-Identifier: Apache-2.0
# The newest stand-ins and the agent with a sanitizer in them, and the test that profiles with them.
# The agent that is installed has none, for the programs that it enters have none.

get_target_property(_agent_folder tracesmith-cuda SOURCE_DIR)
get_target_property(_agent_sources tracesmith-cuda SOURCES)
get_target_property(_core_sources tracesmith-agent-core SOURCES)
list(APPEND _agent_sources ${_core_sources})
list(TRANSFORM _agent_sources PREPEND "${_agent_folder}/" REGEX "^[^/]")
add_library(sanitized-cuda-agent MODULE ${_agent_sources})
set_target_properties(sanitized-cuda-agent PROPERTIES OUTPUT_NAME tracesmith-cuda
                                                      CXX_VISIBILITY_PRESET hidden)
target_include_directories(sanitized-cuda-agent PRIVATE "${PROJECT_SOURCE_DIR}/src")
# The sanitizer is in the program: nothing says here that its functions must be found.
target_link_options(sanitized-cuda-agent PRIVATE -static-libgcc -static-libstdc++
                    -Wl,--exclude-libs,ALL -Wl,-z,nodelete -Wl,-z,now)
target_compile_options(sanitized-cuda-agent PRIVATE -fno-exceptions -fno-threadsafe-statics)
target_link_libraries(sanitized-cuda-agent PRIVATE ${CMAKE_DL_LIBS})

add_executable(cuda_sanitized_tests sanitized_test.cpp)
target_link_libraries(cuda_sanitized_tests PRIVATE tracesmith-capture GTest::gmock GTest::gtest_main)
target_compile_options(cuda_sanitized_tests PRIVATE ${TRACESMITH_TEST_OPTIONS})
target_compile_definitions(cuda_sanitized_tests PRIVATE STANDIN_FOLDER="${_folder}"
                                                        AGENT_FOLDER="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")

# What is captured while it runs; its NVTX is headers alone.
add_executable(standin-training-${_major} programs/standin_training.cpp)
set_target_properties(standin-training-${_major} PROPERTIES OUTPUT_NAME standin_training)
target_include_directories(standin-training-${_major} SYSTEM
                           PRIVATE "${TRACESMITH_CUDA_HEADERS}/13.5.25/include")
target_link_libraries(standin-training-${_major} PRIVATE standin-cuda-${_major} Threads::Threads
                                                         ${CMAKE_DL_LIBS})

set(_targets standin-training-${_major} standin-cuda-${_major} standin-cudart-${_major} standin-cupti-${_major}
             standin-program-${_major} standin-runtime-program-${_major} sanitized-cuda-agent)
foreach(_target IN LISTS _targets)
  set_target_properties(${_target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${_folder}"
                                              LIBRARY_OUTPUT_DIRECTORY "${_folder}")
  target_include_directories(${_target} SYSTEM PRIVATE "${_include}")
  # ThreadSanitizer does not see that the loader may free a thread's variables when it has ended.
  target_compile_options(${_target} PRIVATE -ftls-model=initial-exec)
  if(TRACESMITH_BUILD_FUZZERS)
    target_compile_options(${_target} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
  # Agent and CUPTI call each other by types of their own, which are the same to C.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND TRACESMITH_SANITIZE MATCHES "undefined")
    target_compile_options(${_target} PRIVATE -fno-sanitize=function)
  endif()
endforeach()
add_dependencies(cuda_sanitized_tests ${_targets} tracesmith-process)
add_dependencies(unit_tests cuda_sanitized_tests)
gtest_discover_tests(
  cuda_sanitized_tests
  DISCOVERY_MODE PRE_TEST
  DISCOVERY_TIMEOUT 60
  TEST_PREFIX cuda_sanitized.
  PROPERTIES TIMEOUT 60 LABELS e2e)
