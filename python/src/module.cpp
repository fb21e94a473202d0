// SPDX-License-Identifier: Apache-2.0
// tracesmith._core: what the Python package has of the C++ library.
#include <nanobind/nanobind.h>

#include "events.hpp"
#include "text.hpp"
#include "trace_file.hpp"
#include "tracesmith/base/version.hpp"

NB_MODULE(_core, module) {
  // A program that leaves in the middle of its work is not ours to complain about.
  nanobind::set_leak_warnings(false);
  module.attr("version") = tracesmith::getVersionString();
  tracesmith::python::bindTraceFile(module);
  tracesmith::python::bindEvents(module);
  tracesmith::python::bindFiles(module);
  tracesmith::python::bindTimelines(module);
  tracesmith::python::bindReplays(module);
  tracesmith::python::bindCaptures(module);
  tracesmith::python::bindMemory(module);
  tracesmith::python::bindJoins(module);
  tracesmith::python::bindAnnotations(module);
}
