# SPDX-License-Identifier: Apache-2.0
# Vendor options. An option defaults to ON when its vendor can be recorded by this version. An option
# that is switched on without effect causes a warning.

if(SKBUILD) # pip
  include(TraceSmithRequested)
endif()

# tracesmith_vendor(<OPTION> <name> <header> <where it is looked for...>)
function(tracesmith_vendor option name header)
  find_path(${option}_HEADERS ${header} PATHS ${ARGN})
  mark_as_advanced(${option}_HEADERS)
  set(${option} OFF CACHE BOOL "Record ${name} programs (no agent in this version)")
  set(reason "this version has no ${name} agent")
  if(${option}_HEADERS)
    string(APPEND reason " (${header} found in ${${option}_HEADERS})")
  else()
    string(APPEND reason " (${header} not found either)")
  endif()
  if(${option})
    message(WARNING "${option}=ON: ${reason}. The build goes on without it; see docs/status.md.")
  endif()
  tracesmith_feature("${name}" FALSE "${reason}")
endfunction()

# It declares what it uses of CUPTI, and finds the library at run time.
set(TRACESMITH_ENABLE_CUDA ON CACHE BOOL "Record CUDA programs (built always: it needs no header)")
tracesmith_feature("CUDA" TRUE "libcupti is found at run time")
tracesmith_vendor(TRACESMITH_ENABLE_ROCM ROCm rocprofiler-sdk/rocprofiler.h /opt/rocm/include
                  $ENV{ROCM_PATH}/include)
tracesmith_vendor(TRACESMITH_ENABLE_METAL Metal Metal/Metal.h)
tracesmith_vendor(TRACESMITH_ENABLE_MACA MACA mcpti.h /opt/maca/include $ENV{MACA_PATH}/include)

if(TRACESMITH_USE_PERFETTO_SDK)
  message(STATUS "TRACESMITH_USE_PERFETTO_SDK is accepted for compatibility and changes nothing: "
                 "TraceSmith writes Perfetto's protobuf itself.")
endif()
tracesmith_feature("Perfetto SDK" FALSE "not needed: Perfetto's protobuf is written directly")
