// SPDX-License-Identifier: Apache-2.0
// Python bindings of events. Their lists and maps can be changed in place. (An element of a list is
// a copy, because the list may grow.)
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/bind_map.h>
#include <nanobind/stl/bind_vector.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "text.hpp"
#include "tracesmith/model/trace_event.hpp"

NB_MAKE_OPAQUE(std::map<std::string, std::string>)
NB_MAKE_OPAQUE(std::vector<tracesmith::StackFrame>)
NB_MAKE_OPAQUE(std::vector<tracesmith::DeviceInfo>)

namespace tracesmith::python {

/// Converts `all` to a list. Ctrl-C ends it, because creating the Python objects takes as long as
/// reading the events.
template <class Event>
nanobind::typed<nanobind::list, Event> listOf(std::vector<Event> all) {
  nanobind::typed<nanobind::list, Event> list;
  size_t i = 0;
  for (Event& event : all) {
    if (++i % 4096 == 0 && PyErr_CheckSignals() != 0) throw nanobind::python_error();
    list.append(nanobind::cast(std::move(event)));
  }
  return list;
}

void bindEvents(nanobind::module_& module);
void bindFiles(nanobind::module_& module);
void bindTimelines(nanobind::module_& module);
void bindReplays(nanobind::module_& module);
void bindCaptures(nanobind::module_& module);
void bindMemory(nanobind::module_& module);
void bindTopology(nanobind::module_& module);
void bindTimeSync(nanobind::module_& module);
void bindCommAnalysis(nanobind::module_& module);
void bindNcclTracker(nanobind::module_& module);
void bindFleet(nanobind::module_& module);
void bindRemoteFiles(nanobind::module_& module);
/// Raises what the program's signal handlers raised while remote files were read, as
/// KeyboardInterrupt.
void raiseFromRemoteFiles();
void bindMultiGpu(nanobind::module_& module);
void bindJoins(nanobind::module_& module);
void bindVerbs(nanobind::module_& module);
void bindAnnotations(nanobind::module_& module);

}  // namespace tracesmith::python
