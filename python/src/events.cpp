// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

#include <fmt/format.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/capture/profiler.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

void bindEvents(nb::module_& m) {
  nb::bind_map<std::map<std::string, std::string>>(m, "TextMap", "Texts by name.");
  nb::bind_vector<std::vector<StackFrame>>(m, "StackFrameList");
  nb::bind_vector<std::vector<DeviceInfo>>(m, "DeviceInfoList");

  nb::enum_<EventType> types(m, "EventType", "Kind of a TraceEvent.");
  for (int i = 0; i < kEventTypeCount; ++i) {
    const auto type = static_cast<EventType>(i);
    types.value(eventTypeToString(type), type);
  }
  nb::enum_<FlowType>(m, "FlowType", "Meaning of a flow between events.")
      .value("NoFlow", FlowType::None)
      .value("FwdBwd", FlowType::FwdBwd)
      .value("AsyncCpuGpu", FlowType::AsyncCpuGpu)
      .value("Custom", FlowType::Custom);
  nb::enum_<MemoryEvent::Category>(m, "MemoryCategory", "Purpose of an allocation.")
      .value("Unknown", MemoryEvent::Category::Unknown)
      .value("Activation", MemoryEvent::Category::Activation)
      .value("Gradient", MemoryEvent::Category::Gradient)
      .value("Parameter", MemoryEvent::Category::Parameter)
      .value("Temporary", MemoryEvent::Category::Temporary)
      .value("Cached", MemoryEvent::Category::Cached);
  nb::enum_<PlatformType>(m, "PlatformType", "The API through which a device is used.")
      .value("Unknown", PlatformType::Unknown)
      .value("CUDA", PlatformType::CUDA)
      .value("ROCm", PlatformType::ROCm)
      .value("Metal", PlatformType::Metal)
      .value("MACA", PlatformType::MACA)
      .value("Ascend", PlatformType::Ascend)
      .value("OpenCL", PlatformType::OpenCL)
      .value("Vulkan", PlatformType::Vulkan)
      .value("Simulation", PlatformType::Simulation);
  nb::enum_<OverflowPolicy>(m, "OverflowPolicy",
                            "Action of a full buffer; lost events are counted.")
      .value("DropOldest", OverflowPolicy::DropOldest)
      .value("DropNewest", OverflowPolicy::DropNewest)
      .value("Block", OverflowPolicy::Block);

  nb::class_<StackFrame>(m, "StackFrame", "A frame of a call stack; \"\" and 0 mean unknown.")
      .def(
          "__init__",
          [](StackFrame* self, uint64_t address, std::string function, std::string file,
             uint32_t line, std::string module) {
            new (self)
                StackFrame{address, std::move(function), std::move(file), line, std::move(module)};
          },
          nb::arg("address") = 0, nb::arg("function_name") = "", nb::arg("file_name") = "",
          nb::arg("line_number") = 0, nb::arg("module") = "")
      .def_rw("address", &StackFrame::address)
      .def_rw("function_name", &StackFrame::function_name)
      .def_rw("file_name", &StackFrame::file_name)
      .def_rw("line_number", &StackFrame::line_number)
      .def_rw("module", &StackFrame::module,
              "library or executable; \"Python\": a Python function, without an address")
      .def(
          "__eq__", [](const StackFrame& a, const StackFrame& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const StackFrame& f) {
        return fmt::format("StackFrame(0x{:x}, {}, {}:{})", f.address,
                           f.function_name.empty() ? "?" : f.function_name, f.file_name,
                           f.line_number);
      });
  nb::class_<CallStack>(m, "CallStack", "A host call stack, innermost frame first.")
      .def(nb::init<>())
      .def_rw("frames", &CallStack::frames)
      .def_rw("thread_id", &CallStack::thread_id)
      .def("empty", &CallStack::empty)
      .def("depth", &CallStack::depth)
      .def("__len__", &CallStack::depth)
      .def(
          "__eq__", [](const CallStack& a, const CallStack& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<KernelParams>(m, "KernelParams",
                           "Launch shape of a kernel: groups, work-items of a group, bytes.")
      .def(nb::init<>())
      .def_rw("grid_x", &KernelParams::grid_x)
      .def_rw("grid_y", &KernelParams::grid_y)
      .def_rw("grid_z", &KernelParams::grid_z)
      .def_rw("block_x", &KernelParams::block_x)
      .def_rw("block_y", &KernelParams::block_y)
      .def_rw("block_z", &KernelParams::block_z)
      .def_rw("shared_mem_bytes", &KernelParams::shared_mem_bytes)
      .def_rw("registers_per_thread", &KernelParams::registers_per_thread)
      .def(
          "__eq__", [](const KernelParams& a, const KernelParams& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<MemoryParams>(m, "MemoryParams",
                           "Addresses and size of a copy, set or allocation; bytes.")
      .def(nb::init<>())
      .def_rw("src_address", &MemoryParams::src_address)
      .def_rw("dst_address", &MemoryParams::dst_address)
      .def_rw("size_bytes", &MemoryParams::size_bytes)
      .def(
          "__eq__", [](const MemoryParams& a, const MemoryParams& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<FlowInfo>(m, "FlowInfo", "One end of a flow; both ends have the same id.")
      .def(nb::init<>())
      .def_rw("id", &FlowInfo::id)
      .def_rw("type", &FlowInfo::type)
      .def_rw("is_start", &FlowInfo::is_start)
      .def(
          "__eq__", [](const FlowInfo& a, const FlowInfo& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  nb::class_<TraceEvent>(m, "TraceEvent",
                         "One event. Times are ns of the host's monotonic clock, like "
                         "get_current_timestamp().")
      .def(nb::init<>())
      .def(nb::init<EventType>(), nb::arg("type"))
      .def(nb::init<EventType, Timestamp>(), nb::arg("type"), nb::arg("timestamp"))
      .def_rw("type", &TraceEvent::type)
      .def_rw("timestamp", &TraceEvent::timestamp)
      .def_rw("duration", &TraceEvent::duration, "ns; 0 for an instant")
      .def_rw("device_id", &TraceEvent::device_id)
      .def_rw("stream_id", &TraceEvent::stream_id)
      .def_rw("correlation_id", &TraceEvent::correlation_id,
              "joins a launch and its kernel; 0: none")
      .def_rw("name", &TraceEvent::name)
      .def_rw("thread_id", &TraceEvent::thread_id, "the system's thread id; 0: unknown")
      .def_rw("metadata", &TraceEvent::metadata)
      .def_rw("flow_info", &TraceEvent::flow_info)
      .def_rw("kernel_params", &TraceEvent::kernel_params, nb::arg("value").none())
      .def_rw("memory_params", &TraceEvent::memory_params, nb::arg("value").none())
      .def_prop_rw(
          "call_stack", [](TraceEvent& e) { return e.call_stack ? &*e.call_stack : nullptr; },
          // Does not accept None: references to its frames would dangle.
          [](TraceEvent& e, const CallStack& stack) { e.call_stack = stack; },
          nb::rv_policy::reference_internal,
          nb::for_getter(nb::sig("def call_stack(self) -> CallStack | None")),
          "None until it is set; set an empty CallStack() to remove it")
      .def_prop_rw(
          "custom_data",
          [](const TraceEvent& e) { return nb::bytes(e.custom_data.data(), e.custom_data.size()); },
          [](TraceEvent& e, const nb::bytes& data) {
            const auto* begin = static_cast<const uint8_t*>(data.data());
            e.custom_data.assign(begin, begin + data.size());
          })
      .def(
          "__eq__", [](const TraceEvent& a, const TraceEvent& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const TraceEvent& e) {
        return fmt::format("TraceEvent({}, '{}', {} ns + {} ns)", eventTypeToString(e.type), e.name,
                           e.timestamp, e.duration);
      });
  nb::class_<MemoryEvent>(m, "MemoryEvent", "An allocation or a release.")
      .def(nb::init<>())
      .def_prop_ro_static(
          "HOST", [](const nb::handle&) { return kHostMemory; }, "device_id of host memory")
      .def_rw("timestamp", &MemoryEvent::timestamp)
      .def_rw("device_id", &MemoryEvent::device_id, "HOST: memory of no device")
      .def_rw("thread_id", &MemoryEvent::thread_id)
      .def_rw("bytes", &MemoryEvent::bytes)
      .def_rw("ptr", &MemoryEvent::ptr)
      .def_rw("is_allocation", &MemoryEvent::is_allocation)
      .def_rw("allocator_name", &MemoryEvent::allocator_name)
      .def_rw("category", &MemoryEvent::category);
  nb::class_<CounterEvent>(m, "CounterEvent", "A counter's value from this time on.")
      .def(nb::init<>())
      .def_rw("timestamp", &CounterEvent::timestamp)
      .def_rw("device_id", &CounterEvent::device_id)
      .def_rw("track_id", &CounterEvent::track_id)
      .def_rw("counter_name", &CounterEvent::counter_name)
      .def_rw("value", &CounterEvent::value)
      .def_rw("unit", &CounterEvent::unit);
  nb::class_<DeviceInfo>(m, "DeviceInfo", "A device; bytes, MHz, bits; 0 means unknown.")
      .def(nb::init<>())
      .def_rw("device_id", &DeviceInfo::device_id)
      .def_rw("name", &DeviceInfo::name)
      .def_rw("vendor", &DeviceInfo::vendor)
      .def_rw("compute_major", &DeviceInfo::compute_major)
      .def_rw("compute_minor", &DeviceInfo::compute_minor)
      .def_rw("total_memory", &DeviceInfo::total_memory)
      .def_rw("memory_clock_rate", &DeviceInfo::memory_clock_rate)
      .def_rw("memory_bus_width", &DeviceInfo::memory_bus_width)
      .def_rw("multiprocessor_count", &DeviceInfo::multiprocessor_count)
      .def_rw("max_threads_per_mp", &DeviceInfo::max_threads_per_mp)
      .def_rw("clock_rate", &DeviceInfo::clock_rate)
      .def_rw("warp_size", &DeviceInfo::warp_size)
      .def(
          "__eq__", [](const DeviceInfo& a, const DeviceInfo& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const DeviceInfo& d) {
        return fmt::format("DeviceInfo({}, '{}')", d.device_id, d.name);
      });
  nb::class_<TraceMetadata>(m, "TraceMetadata", "Metadata of a trace.")
      .def(nb::init<>())
      .def_rw("application_name", &TraceMetadata::application_name)
      .def_rw("command_line", &TraceMetadata::command_line)
      .def_rw("start_time", &TraceMetadata::start_time)
      .def_rw("end_time", &TraceMetadata::end_time)
      .def_rw("hostname", &TraceMetadata::hostname)
      .def_rw("process_id", &TraceMetadata::process_id)
      .def_rw("devices", &TraceMetadata::devices);

  m.def("event_type_to_string", &eventTypeToString, nb::arg("type"));
  m.def("platform_type_to_string", &platformTypeToString, nb::arg("platform"));
  m.def("get_current_timestamp", &getCurrentTimestamp,
        "CLOCK_MONOTONIC in ns: the current time on the clock of traces.");
}

}  // namespace tracesmith::python
