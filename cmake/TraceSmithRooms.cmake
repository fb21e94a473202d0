# SPDX-License-Identifier: Apache-2.0
# One static library per room, of its folder and those within; files are told apart by their ending:
# noun.cpp (library), noun_test.cpp (GoogleTest), noun_fuzz.cpp (libFuzzer), noun_bench.cpp, and, where
# systems differ throughout, noun_posix.cpp and noun_windows.cpp.

set_property(GLOBAL PROPERTY TRACESMITH_ROOMS "")

# For builds from nothing, which a third of the time would go by in reading the same headers; with a
# compiler cache, and for finding includes that are missing, it is better off.
option(TRACESMITH_PCH "Precompile headers that most files include" OFF)
# The first target that asks for a header has it made, and the others take it: they have the same
# options, and of definitions those that it has and more.
function(tracesmith_precompile target header)
  if(TRACESMITH_PCH)
    get_property(maker GLOBAL PROPERTY "TRACESMITH_MAKER_OF_${header}")
    if(maker)
      target_precompile_headers(${target} REUSE_FROM ${maker})
    else()
      target_precompile_headers(
        ${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/${header}>")
      set_property(GLOBAL PROPERTY "TRACESMITH_MAKER_OF_${header}" ${target})
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # A compiler cache returns a header that was precompiled from equal files of another age.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # From there GCC 12 no longer knows <string> as the system's, and warns of what is not so.
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
                                               -Wno-stringop-overread)
    endif()
  endif()
endfunction()

# Likewise. What a file takes from its neighbours goes unseen then; script/lint reads each by itself.
option(TRACESMITH_UNITY "Compile several files of a room as one" OFF)
function(tracesmith_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TRACESMITH_UNITY} UNITY_BUILD_BATCH_SIZE 32)
  if(TRACESMITH_UNITY)
    # GCC takes the room's files for headers, in which a type without linkage would be a mistake, and
    # clang a file's own names for those that another one's variables hide.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                                             $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
  endif()
endfunction()

# READS: the beginning of the paths (within the room) of those files that are in a build that only reads traces; RUNS: of
# those that are not. By default all are.
function(tracesmith_room name)
  cmake_parse_arguments(ARG "" "READS;RUNS" "DEPENDS" ${ARGN})
  set(dir "${PROJECT_SOURCE_DIR}/src/tracesmith/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cpp$")
  # Agents are libraries of their own; what makes a vendor's calls in a replay is added where its headers are.
  list(FILTER sources EXCLUDE REGEX "/(capture/agents|replay/opencl)/[^.]*\\.cpp$")
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    list(FILTER sources EXCLUDE REGEX "/base/linux/")
  endif()
  if(WIN32)
    list(FILTER sources EXCLUDE REGEX "_posix\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "/base/windows/|_windows\\.cpp$")
  endif()
  if(TRACESMITH_READING_ONLY AND ARG_READS)
    list(FILTER sources INCLUDE REGEX "/${name}/${ARG_READS}")
  endif()
  if(TRACESMITH_READING_ONLY AND ARG_RUNS)
    list(FILTER sources EXCLUDE REGEX "/${name}/${ARG_RUNS}")
  endif()
  set(target "tracesmith-${name}")
  if(NOT sources)
    set(sources "${PROJECT_SOURCE_DIR}/cmake/empty_room.cpp")
  endif()
  add_library(${target} STATIC ${sources})
  add_library(tracesmith::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME ${name})
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                     $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                     $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                     $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS})
  tracesmith_unity(${target})
  if(name MATCHES "^(base|model)$")
    tracesmith_precompile(${target} precompiled.hpp)
  else()
    tracesmith_precompile(${target} precompiled_trace.hpp)
  endif()
  set_property(GLOBAL APPEND PROPERTY TRACESMITH_ROOMS ${name})
endfunction()
