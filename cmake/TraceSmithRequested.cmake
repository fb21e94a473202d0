# SPDX-License-Identifier: Apache-2.0
# What `TRACESMITH_CUDA=1 pip install .` and its like ask for. pip shows no warnings: what cannot be
# had ends the build. Runs by itself, too: cmake -P TraceSmithRequested.cmake
foreach(_vendor CUDA ROCm Metal)
  string(TOUPPER "TRACESMITH_${_vendor}" _variable)
  set(_value "$ENV{${_variable}}")
  if(_value STREQUAL "" OR _value MATCHES "^(0|[Oo][Ff][Ff]|[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee])$")
    continue()
  endif()
  if(_vendor STREQUAL "CUDA")
    message(STATUS "${_variable}=${_value}: the CUDA agent is built always; libcupti is found when a "
                   "program runs (from the CUDA toolkit, PyTorch, or pip install tracesmith[cuda12])")
  else()
    message(FATAL_ERROR "${_variable}=${_value}: this version has no ${_vendor} agent. Unset "
                        "${_variable} to build without it; its traces from other tools can be read. "
                        "See docs/status.md.")
  endif()
endforeach()
