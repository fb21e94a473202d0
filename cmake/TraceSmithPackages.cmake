# SPDX-License-Identifier: Apache-2.0
# Debian packages of what cmake --install installs: cpack -G DEB in the build folder, or script/packages deb.
# The components are "command" (the default), "library" and "development".
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_VENDOR TraceSmith)
set(CPACK_PACKAGE_CONTACT "TraceSmith <tracesmith@localhost>")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tracesmith)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
# Nothing links them: the OpenCL loader is the program's, and xdg-open shows Studio's address.
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS xdg-utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "pocl-opencl-icd, python3-tracesmith")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
    "records what a program does on a GPU, and explains it
Every kernel, copy and wait of an unchanged program (OpenCL, CUDA) is
kept in one small file that survives crashes. The command shows it as a
timeline, tables, findings and SQL, on the terminal or in the browser. It
reads traces of PyTorch, Nsight Systems, rocprofv3 and others. Recordings
of OpenCL programs are executed again, which finds races and results that
vary.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtracesmith1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
file(WRITE "${PROJECT_BINARY_DIR}/debian/shlibs"
     "libtracesmith 1 libtracesmith1 (>= ${PROJECT_VERSION})\n")
file(WRITE "${PROJECT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/shlibs;${PROJECT_BINARY_DIR}/debian/triggers")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "reads and analyses traces of GPUs (shared library)
Opens, queries, analyses, exports and imports traces of TraceSmith, for
programs in C and languages that call C.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtracesmith-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtracesmith1 (= ${PROJECT_VERSION}), libboost-dev, libdw-dev, libexpat1-dev, libexpected-dev, libfmt-dev, libisal-dev, libsimdjson-dev, libsqlite3-dev, libxxhash-dev, libzstd-dev"
)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "reads and analyses traces of GPUs (development files)
Headers of the C and C++ interfaces, static libraries, and files for
CMake and pkg-config.")

# What Debian's policy asks of each package: changelog, licences, compressed manual pages.
string(TIMESTAMP _date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, if it is set
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/debian/changelog" @ONLY CONTENT
     "tracesmith (@PROJECT_VERSION@) unstable; urgency=medium

  * What changed is in CHANGELOG.md of the sources.

 -- TraceSmith <tracesmith@localhost>  @_date@
")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake")
foreach(_component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${_component} _upper)
  set(_doc share/doc/${CPACK_DEBIAN_${_upper}_PACKAGE_NAME})
  # Only in packages: other installations have LICENSE.
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/debian/copyright"
                "${PROJECT_BINARY_DIR}/debian/changelog"
          DESTINATION ${_doc} COMPONENT ${_component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
