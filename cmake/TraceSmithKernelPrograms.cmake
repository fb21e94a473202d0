# SPDX-License-Identifier: Apache-2.0
# What the recorder of processors needs from the system that it is built on: the names of system calls, and programs for
# the kernel (BPF), which clang compiles. They describe themselves (CO-RE), and so fit other kernels than this one's.
execute_process(
  COMMAND ${CMAKE_C_COMPILER} -E -dM -include sys/syscall.h -x c /dev/null
  OUTPUT_VARIABLE _macros ERROR_QUIET)
string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ [0-9]+\n" _macros "${_macros}")
set(_names "")
foreach(_macro IN LISTS _macros)
  string(REGEX REPLACE "#define __NR_([a-z0-9_]+) ([0-9]+)\n" "{\\2, \"\\1\"}," _name "${_macro}")
  list(APPEND _names "${_name}")
endforeach()
list(SORT _names COMPARE NATURAL)
string(JOIN "\n" _names ${_names})
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/system_call_names.inc"
     CONTENT "${_names}\n" @ONLY)

set(_folder "${PROJECT_SOURCE_DIR}/src/tracesmith/capture/system")
find_program(TRACESMITH_BPF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
find_path(TRACESMITH_LIBBPF_HEADERS bpf/bpf_core_read.h)
mark_as_advanced(TRACESMITH_BPF_CLANG TRACESMITH_LIBBPF_HEADERS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_machine arm64)
else()
  set(_machine x86)
endif()
if(TRACESMITH_BPF_CLANG AND TRACESMITH_LIBBPF_HEADERS)
  set(_object "${PROJECT_BINARY_DIR}/generated/system.bpf.o")
  file(GLOB _sources CONFIGURE_DEPENDS "${_folder}/bpf/*.[ch]")
  add_custom_command(
    OUTPUT "${_object}"
    COMMAND ${TRACESMITH_BPF_CLANG} -O2 -g -target bpf -D__TARGET_ARCH_${_machine} -Wall -Werror
            -I${TRACESMITH_LIBBPF_HEADERS} -c "${_folder}/bpf/system.bpf.c" -o "${_object}"
    DEPENDS ${_sources}
    COMMENT "Compiling programs for the kernel"
    VERBATIM)
  add_custom_target(tracesmith-kernel-programs DEPENDS "${_object}")
  add_dependencies(tracesmith-capture tracesmith-kernel-programs)
  set_source_files_properties(
    "${_folder}/kernel_tracer.cpp"
    PROPERTIES COMPILE_DEFINITIONS "TRACESMITH_BPF_OBJECT=\"${_object}\"" OBJECT_DEPENDS "${_object}"
               SKIP_UNITY_BUILD_INCLUSION ON)
  tracesmith_feature("kernel programs" TRUE "${TRACESMITH_BPF_CLANG}, and libbpf at run time")
else()
  tracesmith_feature("kernel programs" FALSE "clang or libbpf-dev is missing: no system calls and wakeups")
endif()
