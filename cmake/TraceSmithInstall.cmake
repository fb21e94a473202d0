# SPDX-License-Identifier: Apache-2.0
# cmake --install: libraries, headers and the CMake package. Agents and the command install
# themselves where they are defined.

include(CMakePackageConfigHelpers)
set(_package_dir lib/cmake/TraceSmith)

get_property(_rooms GLOBAL PROPERTY TRACESMITH_ROOMS)
list(REMOVE_ITEM _rooms cli c_api studio)
install(CODE "set(TRACESMITH_SOURCE \"${PROJECT_SOURCE_DIR}\")" COMPONENT development)
install(SCRIPT cmake/install_headers.cmake COMPONENT development)
foreach(_room IN LISTS _rooms)
  install(TARGETS tracesmith-${_room} EXPORT TraceSmithTargets ARCHIVE DESTINATION lib COMPONENT development)
endforeach()
install(TARGETS tracesmith-all EXPORT TraceSmithTargets COMPONENT development)
install(EXPORT TraceSmithTargets NAMESPACE TraceSmith:: DESTINATION ${_package_dir}
        COMPONENT development)

configure_package_config_file(
  cmake/TraceSmithConfig.cmake.in "${PROJECT_BINARY_DIR}/cmake/TraceSmithConfig.cmake"
  INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/TraceSmithConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/TraceSmithConfig.cmake"
              "${PROJECT_BINARY_DIR}/cmake/TraceSmithConfigVersion.cmake"
        DESTINATION ${_package_dir} COMPONENT development)
install(FILES LICENSE DESTINATION share/doc/tracesmith)
