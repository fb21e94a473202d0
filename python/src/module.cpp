// SPDX-License-Identifier: Apache-2.0
// tracesmith._core: the bindings of the C++ library for the Python package.
#include <nanobind/nanobind.h>

#include "events.hpp"
#include "text.hpp"
#include "trace_file.hpp"
#include "tracesmith/base/version.hpp"

NB_MODULE(_core, module) {
  // A program may end while objects are alive; that is no reason for a warning.
  nanobind::set_leak_warnings(false);
  module.attr("version") = tracesmith::getVersionString();
  tracesmith::python::bindReportTables(module);
  tracesmith::python::bindTraceFile(module);
  tracesmith::python::bindEvents(module);
  tracesmith::python::bindFiles(module);
  tracesmith::python::bindTimelines(module);
  tracesmith::python::bindReplays(module);
  tracesmith::python::bindCaptures(module);
  tracesmith::python::bindMemory(module);
  tracesmith::python::bindTopology(module);
  tracesmith::python::bindTimeSync(module);
  tracesmith::python::bindCommAnalysis(module);
  tracesmith::python::bindNcclTracker(module);
  tracesmith::python::bindFleet(module);
  tracesmith::python::bindRemoteFiles(module);
  tracesmith::python::bindMultiGpu(module);
  tracesmith::python::bindJoins(module);
  tracesmith::python::bindVerbs(module);
  tracesmith::python::bindAnnotations(module);
}
