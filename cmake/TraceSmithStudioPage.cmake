# SPDX-License-Identifier: Apache-2.0
# The page of Studio, made by script/studio, goes into the program.
set(TRACESMITH_STUDIO_PAGE "${PROJECT_SOURCE_DIR}/build/studio/page"
    CACHE PATH "Folder with index.html.gz, studio.js.gz, charts.js.gz and studio.css.gz")
set(_files "${TRACESMITH_STUDIO_PAGE}/index.html.gz" "${TRACESMITH_STUDIO_PAGE}/studio.js.gz"
           "${TRACESMITH_STUDIO_PAGE}/charts.js.gz" "${TRACESMITH_STUDIO_PAGE}/studio.css.gz")
set(_there TRUE)
foreach(_file IN LISTS _files)
  if(NOT EXISTS "${_file}")
    set(_there FALSE)
  endif()
endforeach()
if(_there)
  set_source_files_properties(
    src/tracesmith/studio/page/page_files.cpp
    PROPERTIES COMPILE_DEFINITIONS "TRACESMITH_STUDIO_PAGE=\"${TRACESMITH_STUDIO_PAGE}\""
               OBJECT_DEPENDS "${_files}" SKIP_UNITY_BUILD_INCLUSION ON)
  tracesmith_feature("Studio's page" TRUE "${TRACESMITH_STUDIO_PAGE}")
else()
  tracesmith_feature("Studio's page" FALSE "not made: script/studio makes it")
endif()
