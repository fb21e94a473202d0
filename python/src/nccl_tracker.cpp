// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/nccl_tracker.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/vector.h>

#include "events.hpp"
#include "text.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

void bindNcclTracker(nb::module_& m) {
  nb::class_<NCCLTrackerConfig>(m, "NCCLTrackerConfig",
                                "Which operations an NCCLTracker keeps, and how many.")
      .def(nb::init<>())
      .def_rw("hook_enabled", &NCCLTrackerConfig::hook_enabled,
              "start_capture() installs the hooks")
      .def_rw("track_all_comms", &NCCLTrackerConfig::track_all_comms)
      .def_rw("comm_filter", &NCCLTrackerConfig::comm_filter,
              "comm_id of those that are tracked, unless all are")
      .def_rw("max_operations", &NCCLTrackerConfig::max_operations,
              "the oldest are dropped beyond that");
  using Statistics = NCCLTracker::Statistics;
  nb::class_<Statistics>(m, "NCCLStatistics", "Sums over the operations of an NCCLTracker.")
      .def_ro("total_operations", &Statistics::total_operations)
      .def_ro("total_bytes_transferred", &Statistics::total_bytes_transferred)
      .def_ro("total_duration_ns", &Statistics::total_duration_ns, "of completed operations")
      .def_ro("ops_by_type", &Statistics::ops_by_type)
      .def_ro("bytes_by_type", &Statistics::bytes_by_type)
      .def_ro("duration_by_type", &Statistics::duration_by_type);
  nb::class_<NCCLTracker>(m, "NCCLTracker",
                          "What this program does with NCCL. For traces there is `tracesmith "
                          "profile`, which has more.")
      .def(nb::init<NCCLTrackerConfig>(), nb::arg("config") = NCCLTrackerConfig())
      .def("install_hooks", &NCCLTracker::installHooks,
           "Has NCCL load TraceSmith's profiler plugin, which passes everything on to the user's "
           "own. Call it before the first communicator is made. False if the plugin is not "
           "installed, or another tracker has it.")
      .def("remove_hooks", &NCCLTracker::removeHooks, nb::call_guard<nb::gil_scoped_release>())
      .def("is_hooked", &NCCLTracker::isHooked)
      .def("start_capture", &NCCLTracker::startCapture,
           "False if the hooks are wanted and cannot be installed.")
      .def("stop_capture", &NCCLTracker::stopCapture)
      .def("is_capturing", &NCCLTracker::isCapturing)
      .def("clear", &NCCLTracker::clear)
      .def("record_operation_start", &NCCLTracker::recordOperationStart, nb::arg("operation"),
           "An operation that the caller knows of, also without hooks. Returns its op_id. "
           "start_time 0: now.")
      .def("record_operation_end", &NCCLTracker::recordOperationEnd, nb::arg("op_id"),
           nb::arg("end_time") = 0,
           "False if there is no such operation, or it has ended. end_time 0: now.")
      .def("get_operations", &NCCLTracker::getOperations, "In the order of their starts.")
      .def("get_operations_by_type", &NCCLTracker::getOperationsByType, nb::arg("type"))
      .def("get_operations_by_comm", &NCCLTracker::getOperationsByComm, nb::arg("comm_id"))
      .def("get_operation", &NCCLTracker::getOperation, nb::arg("op_id"),
           "op_type is Unknown if there is none.")
      .def("to_trace_events", &NCCLTracker::toTraceEvents,
           "NCCLStart for each, and NCCLComplete for each that has ended.")
      .def("correlate_with_gpu_events", &NCCLTracker::correlateWithGPUEvents, nb::arg("events"),
           "Gives operations the correlation id of the NCCL kernel among `events` in which they "
           "ended. Returns how many have one now.")
      .def("get_statistics", &NCCLTracker::getStatistics);
  m.def("is_nccl_available", &isNCCLAvailable,
        "Whether the plugin for NCCL is installed. Says nothing of NCCL itself.");
}

}  // namespace tracesmith::python
