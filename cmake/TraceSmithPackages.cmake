# SPDX-License-Identifier: Apache-2.0
# Debian packages of what cmake --install installs: cpack -G DEB in the build folder, or script/packages deb.
# The components are "command" (the default), "library", "development" and, if the module is built, "python3".
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
    "libtracesmith1 (= ${PROJECT_VERSION}), libboost-dev, libdw-dev, libexpat1-dev, libexpected-dev, libfmt-dev, libiberty-dev, libisal-dev, libsimdjson-dev, libsqlite3-dev, libxxhash-dev, libzstd-dev"
)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "reads and analyses traces of GPUs (development files)
Headers of the C and C++ interfaces, static libraries, and files for
CMake and pkg-config.")

# The Python package for the system's interpreter. The wheel (component "python") has a command of its own.
if(TARGET tracesmith-python)
  list(APPEND CPACK_COMPONENTS_ALL python3)
  find_package(Python 3.9 QUIET REQUIRED COMPONENTS Interpreter)
  math(EXPR _next "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-tracesmith)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS
      "tracesmith (= ${PROJECT_VERSION}), python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${_next}), python3-numpy")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/python3/postinst"
                                                 "${PROJECT_SOURCE_DIR}/packaging/debian/python3/prerm")
  set(CPACK_COMPONENT_PYTHON3_DESCRIPTION
      "records, reads and analyses traces of GPUs (Python module)
Tables of a trace as NumPy arrays, SQL, analyses and pictures; records
the running program, and annotates it.")
  set(_modules lib/python3/dist-packages)
  file(WRITE "${PROJECT_BINARY_DIR}/debian/METADATA"
       "Metadata-Version: 2.1\nName: tracesmith\nVersion: ${PROJECT_VERSION}\nRequires-Dist: numpy\n")
  # Where the module looks for the command.
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/debian/bin")
  file(CREATE_LINK ../../../../../bin/tracesmith "${PROJECT_BINARY_DIR}/debian/bin/tracesmith" SYMBOLIC)
  install(TARGETS tracesmith-python LIBRARY DESTINATION ${_modules}/tracesmith COMPONENT python3 EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/tracesmith/" DESTINATION ${_modules}/tracesmith COMPONENT python3
          EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
  install(FILES "${PROJECT_BINARY_DIR}/python/tracesmith/_core.pyi" "${PROJECT_BINARY_DIR}/python/tracesmith/_tables.pyi"
          DESTINATION ${_modules}/tracesmith COMPONENT python3 EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_BINARY_DIR}/debian/bin" DESTINATION ${_modules}/tracesmith COMPONENT python3
          EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_BINARY_DIR}/debian/METADATA"
          DESTINATION ${_modules}/tracesmith-${PROJECT_VERSION}.dist-info COMPONENT python3 EXCLUDE_FROM_ALL)
endif()

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
