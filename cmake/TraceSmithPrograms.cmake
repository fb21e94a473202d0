# SPDX-License-Identifier: Apache-2.0
# Programs that lie beside the code they exercise: noun_bench.cpp and noun_fuzz.cpp. Benches are not
# part of `all` (target `benches` builds them); fuzzers exist when TRACESMITH_BUILD_FUZZERS is on.

add_custom_target(benches)
add_custom_target(fuzzers)
get_property(_rooms GLOBAL PROPERTY TRACESMITH_ROOMS)
foreach(_room IN LISTS _rooms)
  set(_dir "${PROJECT_SOURCE_DIR}/src/tracesmith/${_room}")
  file(GLOB_RECURSE _benches CONFIGURE_DEPENDS "${_dir}/*_bench.cpp")
  foreach(_source IN LISTS _benches)
    get_filename_component(_name "${_source}" NAME_WE)
    add_executable(${_name} EXCLUDE_FROM_ALL "${_source}")
    target_link_libraries(${_name} PRIVATE tracesmith-${_room})
    add_dependencies(benches ${_name})
  endforeach()
  if(TRACESMITH_BUILD_FUZZERS)
    file(GLOB_RECURSE _fuzzers CONFIGURE_DEPENDS "${_dir}/*_fuzz.cpp")
    foreach(_source IN LISTS _fuzzers)
      get_filename_component(_name "${_source}" NAME_WE)
      add_executable(${_name} "${_source}")
      target_link_libraries(${_name} PRIVATE tracesmith-${_room})
      target_link_options(${_name} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzzers ${_name})
    endforeach()
  endif()
endforeach()

# What script/demo needs and nothing else.
add_custom_target(demo)
foreach(_target tracesmith tracesmith-cli tracesmith-opencl-agent tracesmith-opencl-preload
                tracesmith-opencl-record
                tracesmith-process tracesmith-xray tracesmith-cuda tracesmith_example_opencl tracesmith_example_race)
  if(TARGET ${_target})
    add_dependencies(demo ${_target})
  endif()
endforeach()
