# SPDX-License-Identifier: Apache-2.0
# Runs at installation: the headers in include/ and those that they include, nothing else. Both lie in one
# tree afterwards.

set(headers "")
file(GLOB_RECURSE to_do RELATIVE "${TRACESMITH_SOURCE}/include" "${TRACESMITH_SOURCE}/include/*.hpp")
while(to_do)
  list(POP_FRONT to_do header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers "${header}")
  foreach(folder include src)
    if(EXISTS "${TRACESMITH_SOURCE}/${folder}/${header}")
      get_filename_component(place "${header}" DIRECTORY)
      file(INSTALL "${TRACESMITH_SOURCE}/${folder}/${header}" DESTINATION "${CMAKE_INSTALL_PREFIX}/include/${place}")
      file(STRINGS "${TRACESMITH_SOURCE}/${folder}/${header}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]tracesmith/")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE ".*[<\"](tracesmith/[^>\"]*)[>\"].*" "\\1" included "${line}")
        list(APPEND to_do "${included}")
      endforeach()
    endif()
  endforeach()
endwhile()
