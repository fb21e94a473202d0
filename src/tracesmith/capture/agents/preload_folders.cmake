# SPDX-License-Identifier: Apache-2.0
# Folders beside the agents, named after values of the dynamic loader's $PLATFORM. An LD_PRELOAD
# path through them leads to the agent in a 64-bit program, and to an empty library in a 32-bit one.
# The 32-bit program would otherwise print "wrong ELF class" (capture/launch/preload_path.cpp).
#
#   PLATFORM   values of glibc: sysdeps/x86/cpu-features.c, and the kernel's AT_PLATFORM
#   x86_64, haswell, xeon_phi   64-bit programs
#   i386 ... i686               32-bit programs
#   $PLATFORM                   64-bit programs with musl, which does not replace this text

set(_libraries libtracesmith-mpi.so libtracesmith-process.so libtracesmith-xray.so)
if(TRACESMITH_HAVE_OPENCL_AGENT)
  list(APPEND _libraries libtracesmith-opencl-preload.so)
endif()
set(_place "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
set(_folders "")

if(NOT TRACESMITH_32_BIT_COMPILER)  # a toolchain file may know another one
  set(TRACESMITH_32_BIT_COMPILER "${CMAKE_C_COMPILER}" -m32)
endif()

# An empty library can be compiled without a 32-bit C library.
function(tracesmith_make_empty_library path made)
  set(${made} FALSE PARENT_SCOPE)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/empty.c")
  file(WRITE "${source}" "typedef int an_empty_library;\n")
  execute_process(
    COMMAND ${TRACESMITH_32_BIT_COMPILER} -shared -fPIC -nostdlib -Wl,--hash-style=both
            -Wl,--build-id=none -s "${source}" -o "${path}"
    RESULT_VARIABLE failed
    OUTPUT_QUIET ERROR_QUIET)
  if(failed OR NOT EXISTS "${path}")
    return()
  endif()
  file(READ "${path}" magic LIMIT 5 HEX)
  if(magic STREQUAL "7f454c4601")
    set(${made} TRUE PARENT_SCOPE)
  endif()
endfunction()

file(MAKE_DIRECTORY "${_place}/i686")
tracesmith_make_empty_library("${_place}/i686/libtracesmith-empty.so" _made)
if(_made)
  foreach(_folder "x86_64" "haswell" "xeon_phi" "\$PLATFORM" "i386" "i486" "i586" "i686")
    file(MAKE_DIRECTORY "${_place}/${_folder}")
    foreach(_library IN LISTS _libraries)
      if(_folder STREQUAL "i686")
        set(_target libtracesmith-empty.so)
      elseif(_folder MATCHES "^i")
        set(_target "../i686/libtracesmith-empty.so")
      else()
        set(_target "../${_library}")
      endif()
      file(CREATE_LINK "${_target}" "${_place}/${_folder}/${_library}" SYMBOLIC)
    endforeach()
    list(APPEND _folders "${_place}/${_folder}")
  endforeach()
  install(DIRECTORY ${_folders} DESTINATION lib/tracesmith)
  tracesmith_feature("32-bit children" TRUE "they preload an empty library")
else()
  file(REMOVE_RECURSE "${_place}/i686")
  tracesmith_feature("32-bit children" FALSE
                     "the compiler makes no 32-bit library, so their loader names ours on stderr")
endif()
set_property(GLOBAL PROPERTY TRACESMITH_PRELOAD_FOLDERS "${_folders}")
