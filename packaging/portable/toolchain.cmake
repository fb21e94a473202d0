# SPDX-License-Identifier: Apache-2.0
# For CMake: compile for TRACESMITH_TARGET with zig's clang, against the libraries that packaging/portable/libraries
# has built. Both lie in TRACESMITH_PORTABLE, the folder of the target.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRACESMITH_TARGET TRACESMITH_PORTABLE)
if(TRACESMITH_TARGET MATCHES "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(TRACESMITH_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${TRACESMITH_TARGET}")

set(CMAKE_C_COMPILER "${TRACESMITH_PORTABLE}/bin/cc")
set(CMAKE_CXX_COMPILER "${TRACESMITH_PORTABLE}/bin/c++")
set(CMAKE_AR "${TRACESMITH_PORTABLE}/bin/ar")
set(CMAKE_RANLIB "${TRACESMITH_PORTABLE}/bin/ranlib")
set(TRACESMITH_32_BIT_COMPILER "${TRACESMITH_PORTABLE}/bin/cc-32")
set(CMAKE_RC_COMPILER "${TRACESMITH_PORTABLE}/bin/rc")
# Runs what was built: the command writes its own manual page. Its search path is that of the installation, where
# the libraries are beside it.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(_libraries "LD_LIBRARY_PATH=${TRACESMITH_PORTABLE}/libraries/lib")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
    set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/env "${_libraries}")
  else()
    set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}" -E "${_libraries}" -L "/usr/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
  endif()
endif()

# Nothing of this machine.
set(CMAKE_FIND_ROOT_PATH "${TRACESMITH_PORTABLE}/libraries")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${TRACESMITH_PORTABLE}/libraries/lib/pkgconfig")
set(ENV{PKG_CONFIG_PATH} "")

# No symbols, and no path of this machine.
set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
