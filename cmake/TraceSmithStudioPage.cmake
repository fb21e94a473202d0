# SPDX-License-Identifier: Apache-2.0
# The page of Studio, made by script/studio, goes into the program.
set(TRACESMITH_STUDIO_PAGE "${PROJECT_SOURCE_DIR}/build/studio/page"
    CACHE PATH "Folder with index.html.gz, studio.js.gz, charts.js.gz and studio.css.gz")
set(_files "${TRACESMITH_STUDIO_PAGE}/index.html.gz" "${TRACESMITH_STUDIO_PAGE}/studio.js.gz"
           "${TRACESMITH_STUDIO_PAGE}/charts.js.gz" "${TRACESMITH_STUDIO_PAGE}/studio.css.gz")
set(_there TRUE)
foreach(_file IN LISTS _files)
  if(NOT EXISTS "${_file}" OR TRACESMITH_READING_ONLY)
    set(_there FALSE)
  endif()
endforeach()
if(_there)
  set_source_files_properties(
    src/tracesmith/studio/page/page_files.cpp
    PROPERTIES COMPILE_DEFINITIONS "TRACESMITH_STUDIO_PAGE=\"${TRACESMITH_STUDIO_PAGE}\""
               OBJECT_DEPENDS "${_files}" SKIP_UNITY_BUILD_INCLUSION ON)
  tracesmith_feature("Studio's page" TRUE "${TRACESMITH_STUDIO_PAGE}")
elseif(NOT TRACESMITH_READING_ONLY)
  tracesmith_feature("Studio's page" FALSE "not made: script/studio makes it")
endif()

# The packages that are in the page, with their licences, from the lock file of npm. None if there is no page.
function(tracesmith_page_components lock header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${lock}")
  file(READ "${lock}" text)
  string(JSON count LENGTH "${text}" packages)
  math(EXPR last "${count} - 1")
  set(number 0)
  set(lines "")
  foreach(i RANGE ${last})
    string(JSON path MEMBER "${text}" packages ${i})
    string(JSON only_to_build ERROR_VARIABLE none GET "${text}" packages "${path}" dev)
    if(NOT _there OR path STREQUAL "" OR only_to_build STREQUAL "ON")
      continue()
    endif()
    string(JSON version GET "${text}" packages "${path}" version)
    string(JSON licence GET "${text}" packages "${path}" license)
    string(REGEX REPLACE "^.*node_modules/" "" name "${path}")
    string(APPEND lines "    {\"${name}\", \"${version}\", \"${licence}\"},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(JOIN "\n" content
    "#include <array>" ""
    "struct PageComponent {"
    "  const char *name, *version, *licence;"
    "};"
    "constexpr std::array<PageComponent, ${number}> kPageComponents = {{"
    "${lines}}};" "")
  file(CONFIGURE OUTPUT "${header}" CONTENT "${content}" @ONLY)
endfunction()
