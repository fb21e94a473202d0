# SPDX-License-Identifier: Apache-2.0
# Writes the commit that is built into a header, if it is another one than before. Run by each build:
# cmake -DSOURCE=FOLDER -DHEADER=FILE -P WriteCommit.cmake. Without git, as in a source archive, it is what the
# environment has in TRACESMITH_COMMIT and TRACESMITH_COMMIT_DATE, or "unknown".
set(commit "$ENV{TRACESMITH_COMMIT}")
set(date "$ENV{TRACESMITH_COMMIT_DATE}")
if(commit STREQUAL "" AND EXISTS "${SOURCE}/.git")
  execute_process(
    COMMAND git -C "${SOURCE}" log -1 --format=%H
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env TZ=UTC git -C "${SOURCE}" log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ
            --format=%cd
    OUTPUT_VARIABLE date
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C "${SOURCE}" diff --quiet HEAD RESULT_VARIABLE differs ERROR_QUIET)
  if(differs EQUAL 1)
    string(APPEND commit ", changed")
  endif()
endif()
if(commit STREQUAL "")
  set(commit unknown)
endif()
if(date STREQUAL "")
  set(date "1970-01-01T00:00:00Z")
endif()
file(WRITE "${HEADER}.new" "#define TRACESMITH_COMMIT \"${commit}\"\n#define TRACESMITH_COMMIT_DATE \"${date}\"\n")
file(COPY_FILE "${HEADER}.new" "${HEADER}" ONLY_IF_DIFFERENT)
