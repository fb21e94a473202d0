# SPDX-License-Identifier: Apache-2.0
# The table that configure ends with: what is on, what is off, and why.

set_property(GLOBAL PROPERTY TRACESMITH_FEATURES "")

# tracesmith_feature(<name> <true or false> <reason>)
function(tracesmith_feature name enabled reason)
  if(${enabled})
    set(state "on ")
  else()
    set(state "off")
  endif()
  set_property(GLOBAL APPEND PROPERTY TRACESMITH_FEATURES "${name}|${state}|${reason}")
endfunction()

function(tracesmith_print_summary)
  get_property(features GLOBAL PROPERTY TRACESMITH_FEATURES)
  message(STATUS "")
  message(STATUS "TraceSmith ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, "
                 "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  foreach(feature IN LISTS features)
    string(REPLACE "|" ";" parts "${feature}")
    list(GET parts 0 name)
    list(GET parts 1 state)
    list(GET parts 2 reason)
    string(LENGTH "${name}" length)
    math(EXPR padding "18 - ${length}")
    string(REPEAT " " ${padding} spaces)
    message(STATUS "  ${name}${spaces}${state}  ${reason}")
  endforeach()
  message(STATUS "")
endfunction()
