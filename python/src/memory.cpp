// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>

#include "calls.hpp"
#include "events.hpp"
#include "trace_file.hpp"
#include "tracesmith/api/memory_profiler.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Config = MemoryProfiler::Config;
using Profiler = Own<MemoryProfiler>;

/// A new profiler with the content of a trace or of events.
template <class Source>
Profiler* profilerOf(const Source& source, Config config) {
  return new Profiler(interruptible([&] { return MemoryProfiler::of(source, config); }));
}

void bindReports(nb::module_& m) {
  nb::class_<MemoryAllocation>(m, "MemoryAllocation",
                               "An allocation; bytes, ns of the host's clock.")
      .def_ro("ptr", &MemoryAllocation::ptr)
      .def_ro("size", &MemoryAllocation::size)
      .def_ro("device_id", &MemoryAllocation::device_id)
      .def_ro("alloc_time", &MemoryAllocation::alloc_time)
      .def_ro("free_time", &MemoryAllocation::free_time, "0: live")
      .def_ro("allocator", &MemoryAllocation::allocator)
      .def_ro("tag", &MemoryAllocation::tag)
      .def_ro("call_stack_hash", &MemoryAllocation::call_stack_hash,
              "equal for equal stacks of one source; 0: unknown")
      .def("is_live", &MemoryAllocation::is_live)
      .def("lifetime_ns", &MemoryAllocation::lifetime_ns,
           "for a live allocation: up to the time of the query, or to the end of the profile");
  nb::class_<MemorySnapshot>(m, "MemorySnapshot", "Memory use at one time; bytes.")
      .def_ro("timestamp", &MemorySnapshot::timestamp, "ns")
      .def_ro("total_allocated", &MemorySnapshot::total_allocated)
      .def_ro("total_freed", &MemorySnapshot::total_freed)
      .def_ro("live_allocations", &MemorySnapshot::live_allocations, "count")
      .def_ro("live_bytes", &MemorySnapshot::live_bytes)
      .def_ro("peak_bytes", &MemorySnapshot::peak_bytes, "maximum of live_bytes so far")
      .def_ro("device_usage", &MemorySnapshot::device_usage, "live bytes of each device")
      .def_ro("allocator_usage", &MemorySnapshot::allocator_usage, "live bytes of each allocator");
  nb::class_<FragmentationInfo>(
      m, "FragmentationInfo",
      "Fragmentation of device memory. A free block is a range of addresses that allocations "
      "have used since the start, and that no live one uses. Adjacent ranges are one block. It is "
      "not known whether the allocator has returned a block to the system.")
      .def_ro("total_free_bytes", &FragmentationInfo::total_free_bytes)
      .def_ro("largest_free_block", &FragmentationInfo::largest_free_block)
      .def_ro("free_block_count", &FragmentationInfo::free_block_count)
      .def_ro("fragmentation_ratio", &FragmentationInfo::fragmentation_ratio,
              "1 - largest / total; 0: one block, or none");
  nb::class_<MemoryLeak>(m, "MemoryLeak",
                         "An allocation that has been live for longer than the threshold.")
      .def_ro("ptr", &MemoryLeak::ptr)
      .def_ro("size", &MemoryLeak::size, "bytes")
      .def_ro("device_id", &MemoryLeak::device_id)
      .def_ro("alloc_time", &MemoryLeak::alloc_time, "ns")
      .def_ro("allocator", &MemoryLeak::allocator)
      .def_ro("tag", &MemoryLeak::tag)
      .def_ro("lifetime_ns", &MemoryLeak::lifetime_ns, "up to the end of the profile")
      .def_ro("call_stack_hash", &MemoryLeak::call_stack_hash);
  nb::class_<AllocatorStats>(m, "MemoryAllocatorStats",
                             "Totals of an allocator or a device; bytes.")
      .def_ro("allocations", &AllocatorStats::allocations)
      .def_ro("frees", &AllocatorStats::frees)
      .def_ro("bytes_allocated", &AllocatorStats::bytes_allocated)
      .def_ro("bytes_freed", &AllocatorStats::bytes_freed)
      .def_ro("current_usage", &AllocatorStats::current_usage)
      .def_ro("peak_usage", &AllocatorStats::peak_usage);
  nb::class_<MemoryReport>(m, "MemoryReport", "Results of a MemoryProfiler; bytes, ns.")
      .def_ro("total_allocations", &MemoryReport::total_allocations)
      .def_ro("total_frees", &MemoryReport::total_frees, "frees of live allocations")
      .def_ro("total_bytes_allocated", &MemoryReport::total_bytes_allocated)
      .def_ro("total_bytes_freed", &MemoryReport::total_bytes_freed)
      .def_ro("peak_memory_usage", &MemoryReport::peak_memory_usage)
      .def_ro("peak_time", &MemoryReport::peak_time, "time at which the peak was first reached")
      .def_ro("current_memory_usage", &MemoryReport::current_memory_usage)
      .def_ro("profile_duration_ns", &MemoryReport::profile_duration_ns)
      .def_ro("min_allocation_size", &MemoryReport::min_allocation_size)
      .def_ro("max_allocation_size", &MemoryReport::max_allocation_size)
      .def_ro("avg_allocation_size", &MemoryReport::avg_allocation_size)
      .def_ro("avg_allocation_lifetime_ns", &MemoryReport::avg_allocation_lifetime_ns,
              "of released allocations")
      .def_ro("double_frees", &MemoryReport::double_frees,
              "frees of memory that was already released")
      .def_ro("unknown_frees", &MemoryReport::unknown_frees,
              "frees of addresses without a recorded allocation")
      .def_ro("missed_frees", &MemoryReport::missed_frees,
              "allocations at live addresses: the release before was not recorded")
      .def_ro("potential_leaks", &MemoryReport::potential_leaks, "the largest first")
      .def_ro("fragmentation", &MemoryReport::fragmentation,
              "None if \"addresses\" are only handles, as in OpenCL")
      .def_ro("timeline", &MemoryReport::timeline, "see MemoryProfilerConfig.snapshot_interval_ms")
      .def_ro(
          "allocation_size_histogram", &MemoryReport::allocation_size_histogram,
          "count of allocations by size: key 0 for 0 bytes, a power of two for sizes from key to "
          "2 * key - 1")
      .def_ro("allocator_stats", &MemoryReport::allocator_stats)
      .def_ro("device_stats", &MemoryReport::device_stats)
      .def("summary", &MemoryReport::summary, "A readable summary of some twenty lines.")
      .def("to_json", &MemoryReport::toJSON, "The whole report, with these names as keys.")
      .def("__repr__", &MemoryReport::summary);
}

}  // namespace

void bindMemory(nb::module_& m) {
  bindReports(m);
  nb::class_<Config>(m, "MemoryProfilerConfig", "Settings of a MemoryProfiler.")
      .def(nb::init<>())
      .def_rw(
          "snapshot_interval_ms", &Config::snapshot_interval_ms,
          "The timeline has one snapshot for each interval of this length with an event: the one "
          "with the most live bytes.")
      .def_rw("max_timeline_samples", &Config::max_timeline_samples,
              "If there would be more, the intervals become longer; 0: no timeline.")
      .def_rw("leak_threshold_ns", &Config::leak_threshold_ns)
      .def_rw("track_call_stacks", &Config::track_call_stacks,
              "record_alloc() stores a hash of the native addresses")
      .def_rw("detect_double_free", &Config::detect_double_free,
              "False: double frees count as unknown_frees")
      .def_rw("max_events", &Config::max_events,
              "to_memory_events() returns at most so many, the latest");
  nb::class_<Profiler>(m, "MemoryProfiler",
                       "Finds the owners of device memory, the peak, and leaks. It hooks nothing: "
                       "the program reports "
                       "its allocations, or profile_memory() those of a trace. Thread-safe.")
      .def(nb::init<>())
      .def(nb::init<const Config&>(), nb::arg("config"))
      .def(
          "start", [](Profiler& self) { briefly(self.lock, [&] { self.start(); }); },
          "Starts a new profile and drops the previous one. Does nothing while it is active.")
      .def("stop", [](Profiler& self) { briefly(self.lock, [&] { self.stop(); }); })
      .def("is_active", &MemoryProfiler::isActive)
      .def(
          "clear", [](Profiler& self) { alone(self.lock, [&] { self.clear(); }); },
          "Drops all content. An active profile continues from now.")
      .def(
          "__enter__",
          [](nb::handle_t<Profiler> self) {
            auto* const profiler = nb::inst_ptr<Profiler>(self);
            briefly(profiler->lock, [&] { profiler->start(); });
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> MemoryProfiler"))
      .def(
          "__exit__",
          [](Profiler& self, nb::handle, nb::handle, nb::handle) {
            briefly(self.lock, [&] { self.stop(); });
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none())
      .def(
          "record_alloc",
          [](Profiler& self, uint64_t ptr, uint64_t size, uint32_t device,
             const std::string& allocator, const std::string& tag) {
            return briefly(self.lock,
                           [&] { return self.recordAlloc(ptr, size, device, allocator, tag); });
          },
          nb::arg("ptr"), nb::arg("size"), nb::arg("device_id") = 0,
          nb::arg("allocator") = "default", nb::arg("tag") = "",
          "False: the profiler is not active, or the address is 0.")
      .def(
          "record_free",
          [](Profiler& self, uint64_t ptr, uint32_t device) {
            return briefly(self.lock, [&] { return self.recordFree(ptr, device); });
          },
          nb::arg("ptr"), nb::arg("device_id") = 0,
          "False: the same, or no live allocation has that address, which is counted.")
      .def(
          "record_event",
          [](Profiler& self, MemoryEvent event) {
            return briefly(self.lock, [&] { return self.recordEvent(event); });
          },
          nb::arg("event"))
      .def(
          "record_event",
          [](Profiler& self, TraceEvent event) {
            return briefly(self.lock, [&] { return self.recordEvent(event); });
          },
          nb::arg("event"),
          "Takes MemAlloc and MemFree with memory_params; False for other events.")
      .def(
          "get_current_usage",
          [](Profiler& self) { return briefly(self.lock, [&] { return self.getCurrentUsage(); }); },
          "Bytes.")
      .def(
          "get_current_usage",
          [](Profiler& self, uint32_t device) {
            return briefly(self.lock, [&] { return self.getCurrentUsage(device); });
          },
          nb::arg("device_id"), "Bytes of a device.")
      .def(
          "get_peak_usage",
          [](Profiler& self) { return briefly(self.lock, [&] { return self.getPeakUsage(); }); },
          "Bytes.")
      .def(
          "get_peak_usage",
          [](Profiler& self, uint32_t device) {
            return briefly(self.lock, [&] { return self.getPeakUsage(device); });
          },
          nb::arg("device_id"), "Bytes of a device.")
      .def("get_live_allocation_count",
           [](Profiler& self) {
             return briefly(self.lock, [&] { return self.getLiveAllocationCount(); });
           })
      .def(
          "get_live_allocations",
          [](Profiler& self) {
            return alone(self.lock, [&] { return self.getLiveAllocations(); });
          },
          "Ordered by device and address.")
      .def("take_snapshot",
           [](Profiler& self) { return alone(self.lock, [&] { return self.takeSnapshot(); }); })
      .def("generate_report",
           [](Profiler& self) { return alone(self.lock, [&] { return self.generateReport(); }); })
      .def(
          "detect_leaks",
          [](Profiler& self) { return alone(self.lock, [&] { return self.detectLeaks(); }); },
          "Allocations live for at least leak_threshold_ns, now or at stop(). Largest first.")
      .def(
          "to_counter_events",
          [](Profiler& self) { return alone(self.lock, [&] { return self.toCounterEvents(); }); },
          "The timeline as counters: \"device memory\" of each device, in bytes.")
      .def(
          "to_memory_events",
          [](Profiler& self) { return alone(self.lock, [&] { return self.toMemoryEvents(); }); },
          "The latest max_events recorded events.");
  m.def(
      "memory_profiler_of",
      [](TraceFile& file, const Config& config) {
        const auto trace = file.whole();
        return profilerOf(trace->trace, config);
      },
      nb::arg("file"), nb::arg("config"));
  m.def("memory_profiler_of", &profilerOf<std::vector<MemoryEvent>>, nb::arg("events"),
        nb::arg("config"));
  m.def("memory_profiler_of", &profilerOf<std::vector<TraceEvent>>, nb::arg("events"),
        nb::arg("config"));
}

}  // namespace tracesmith::python
