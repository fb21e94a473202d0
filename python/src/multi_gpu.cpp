// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "text.hpp"
#include "tracesmith/cluster/multi_gpu_profiler.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Profiler = Own<MultiGPUProfiler>;

template <class F>
auto of(Profiler& profiler, F&& f) {
  return alone(profiler.lock, [&] { return f(static_cast<MultiGPUProfiler&>(profiler)); });
}

/// Returns true, or throws the profiler's error.
template <class F>
bool did(Profiler& profiler, F&& call) {
  check(of(profiler, [&](MultiGPUProfiler& it) -> Status {
    if (call(it)) return {};
    return fail(it.lastErrorCode(), it.lastError());
  }));
  return true;
}

void bindValues(nb::module_& m) {
  nb::class_<MultiGPUConfig>(m, "MultiGPUConfig",
                             "Settings of a MultiGPUProfiler. GPUs have the numbers that their "
                             "platform gives them, as in TraceEvent.device_id.")
      .def(nb::init<>())
      .def_rw("platform", &MultiGPUConfig::platform, "PlatformType.Unknown: detect_platform()")
      .def_rw("gpu_ids", &MultiGPUConfig::gpu_ids, "empty: all; assign a list")
      .def_rw("per_gpu_buffer_size", &MultiGPUConfig::per_gpu_buffer_size,
              "maximal number of events of a GPU that wait")
      .def_rw("enable_nvlink_tracking", &MultiGPUConfig::enable_nvlink_tracking)
      .def_rw("enable_peer_access_tracking", &MultiGPUConfig::enable_peer_access_tracking)
      .def_rw("capture_topology", &MultiGPUConfig::capture_topology,
              "initialize() looks at the machine")
      .def_rw("overflow_policy", &MultiGPUConfig::overflow_policy);
  nb::class_<NVLinkTransfer>(m, "NVLinkTransfer",
                             "A copy between two GPUs that are connected by links of their own.")
      .def_ro("src_gpu", &NVLinkTransfer::src_gpu)
      .def_ro("dst_gpu", &NVLinkTransfer::dst_gpu)
      .def_ro("bytes", &NVLinkTransfer::bytes)
      .def_ro("timestamp", &NVLinkTransfer::timestamp, "ns")
      .def_ro("duration_ns", &NVLinkTransfer::duration_ns)
      .def_ro("link_id", &NVLinkTransfer::link_id,
              "place of their connection in get_topology().links");
  nb::class_<PeerAccess>(m, "PeerAccess",
                         "A GPU's access to the memory of another, by a copy. Loads and stores of "
                         "kernels leave no record.")
      .def_ro("src_gpu", &PeerAccess::src_gpu, "the GPU that executed the copy")
      .def_ro("dst_gpu", &PeerAccess::dst_gpu, "the GPU whose memory it read or wrote")
      .def_ro("address", &PeerAccess::address, "there; 0: unknown, as always for CUDA")
      .def_ro("bytes", &PeerAccess::bytes)
      .def_ro("is_write", &PeerAccess::is_write)
      .def_ro("timestamp", &PeerAccess::timestamp, "ns");
  nb::class_<MultiGPUStats>(m, "MultiGPUStats", "Counts since initialize().")
      .def_ro("total_events", &MultiGPUStats::total_events, "captured and not dropped")
      .def_ro("total_dropped", &MultiGPUStats::total_dropped,
              "includes events that were lost before their GPU was known")
      .def_ro("nvlink_transfers", &MultiGPUStats::nvlink_transfers)
      .def_ro("nvlink_bytes", &MultiGPUStats::nvlink_bytes)
      .def_ro("peer_accesses", &MultiGPUStats::peer_accesses)
      .def_ro("events_per_gpu", &MultiGPUStats::events_per_gpu)
      .def_ro("dropped_per_gpu", &MultiGPUStats::dropped_per_gpu)
      .def_ro("capture_duration_ms", &MultiGPUStats::capture_duration_ms)
      .def("__repr__", [](const MultiGPUStats& self) {
        return fmt::format("MultiGPUStats(total_events={}, total_dropped={}, nvlink_transfers={})",
                           self.total_events, self.total_dropped, self.nvlink_transfers);
      });
}

void bindAnswers(nb::class_<Profiler>& profiler) {
  using It = MultiGPUProfiler;
  profiler
      .def("get_nvlink_transfers",
           [](Profiler& self) { return of(self, [](It& it) { return it.getNVLinkTransfers(); }); })
      .def("get_peer_accesses",
           [](Profiler& self) { return of(self, [](It& it) { return it.getPeerAccesses(); }); })
      .def("total_events_captured",
           [](Profiler& self) { return of(self, [](It& it) { return it.totalEventsCaptured(); }); })
      .def(
          "events_from_gpu",
          [](Profiler& self, uint32_t gpu) {
            return of(self, [&](It& it) { return it.eventsFromGPU(gpu); });
          },
          nb::arg("gpu_id"), "Number of its events since initialize(), taken or not.")
      .def("get_statistics",
           [](Profiler& self) { return of(self, [](It& it) { return it.getStatistics(); }); })
      .def("get_all_device_info",
           [](Profiler& self) { return of(self, [](It& it) { return it.getAllDeviceInfo(); }); })
      .def(
          "get_device_info",
          [](Profiler& self, uint32_t gpu) {
            return of(self, [&](It& it) { return it.getDeviceInfo(gpu); });
          },
          nb::arg("gpu_id"), "None for a GPU that does not exist.")
      .def(
          "get_topology",
          [](Profiler& self) { return of(self, [](It& it) { return it.getTopology(); }); },
          "Without GPUs if capture_topology is off. Its numbers are those of topology_gpu().")
      .def(
          "topology_gpu",
          [](Profiler& self, uint32_t gpu) {
            return of(self, [&](It& it) { return it.topologyGPU(gpu); });
          },
          nb::arg("gpu_id"), "The number of a GPU in get_topology(); None: unknown.");
}

}  // namespace

void bindMultiGpu(nb::module_& m) {
  bindValues(m);
  using It = MultiGPUProfiler;
  nb::class_<Profiler> profiler(
      m, "MultiGPUProfiler",
      "Captures the work of several GPUs of this process, GPU by GPU. Failures "
      "raise UnsupportedError or InvalidArgumentError with the reason.");
  profiler
      .def(
          "__init__",
          [](Profiler* self, const std::optional<MultiGPUConfig>& config) {
            new (self) Profiler(MultiGPUProfiler(config.value_or(MultiGPUConfig())));
          },
          nb::arg("config") = nb::none())
      .def("initialize",
           [](Profiler& self) { return did(self, [](It& it) { return it.initialize(); }); })
      .def(
          "finalize", [](Profiler& self) { of(self, [](It& it) { it.finalize(); }); },
          "Stops, and drops events that were not taken.")
      .def("is_initialized",
           [](Profiler& self) { return of(self, [](It& it) { return it.isInitialized(); }); })
      .def(
          "add_gpu",
          [](Profiler& self, uint32_t gpu) {
            return did(self, [&](It& it) { return it.addGPU(gpu); });
          },
          nb::arg("gpu_id"), "Keeps the events of this GPU from now on.")
      .def(
          "remove_gpu",
          [](Profiler& self, uint32_t gpu) {
            return did(self, [&](It& it) { return it.removeGPU(gpu); });
          },
          nb::arg("gpu_id"), "Ignores the GPU from now on; what waits can still be taken.")
      .def("get_active_gpus",
           [](Profiler& self) { return of(self, [](It& it) { return it.getActiveGPUs(); }); })
      .def(
          "get_available_gpu_count",
          [](Profiler& self) { return of(self, [](It& it) { return it.getAvailableGPUCount(); }); },
          "GPUs of the platform, active or not.")
      .def("start_capture",
           [](Profiler& self) { return did(self, [](It& it) { return it.startCapture(); }); })
      .def("stop_capture",
           [](Profiler& self) { return did(self, [](It& it) { return it.stopCapture(); }); })
      .def("is_capturing",
           [](Profiler& self) { return of(self, [](It& it) { return it.isCapturing(); }); })
      .def(
          "get_events",
          [](Profiler& self, size_t max_count) {
            return of(self, [&](It& it) {
              std::vector<TraceEvent> events;
              it.getEvents(events, max_count);
              return events;
            });
          },
          nb::arg("max_count") = 0,
          "Removes and returns up to max_count events of all GPUs, in the order of their starts; "
          "0: all that are there now.")
      .def(
          "get_events_from_gpu",
          [](Profiler& self, uint32_t gpu, size_t max_count) {
            return of(self, [&](It& it) {
              std::vector<TraceEvent> events;
              it.getEventsFromGPU(gpu, events, max_count);
              return events;
            });
          },
          nb::arg("gpu_id"), nb::arg("max_count") = 0);
  bindAnswers(profiler);
}

}  // namespace tracesmith::python
