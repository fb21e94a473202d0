# SPDX-License-Identifier: Apache-2.0
# Runs before cpack packs a folder: compresses what Debian's policy wants compressed.
file(GLOB_RECURSE files "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/man/*.1"
     "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/doc/*/changelog")
foreach(file IN LISTS files)
  execute_process(COMMAND gzip -9n "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
