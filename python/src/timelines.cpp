// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>

#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "text.hpp"
#include "trace_file.hpp"
#include "tracesmith/api/timeline_viewer.hpp"
#include "tracesmith/state/gpu_state_machine.hpp"
#include "tracesmith/state/instruction_stream.hpp"
#include "tracesmith/state/timeline_builder.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Events = std::vector<TraceEvent>;

std::map<GPUState, uint64_t> byState(const TimeInStates& times) {
  std::map<GPUState, uint64_t> all;
  for (size_t i = 0; i < kGpuStates; ++i) all[static_cast<GPUState>(i)] = times[i];
  return all;
}

}  // namespace

void bindTimelines(nb::module_& m) {
  nb::class_<TimelineSpan>(m, "TimelineSpan", "A span of device work; times in ns.")
      .def_ro("correlation_id", &TimelineSpan::correlation_id)
      .def_ro("device_id", &TimelineSpan::device_id)
      .def_ro("stream_id", &TimelineSpan::stream_id)
      .def_ro("type", &TimelineSpan::type)
      .def_ro("name", &TimelineSpan::name)
      .def_ro("start_time", &TimelineSpan::start_time)
      .def_ro("end_time", &TimelineSpan::end_time);
  nb::class_<Timeline::Device>(m, "TimelineDevice", "A device with work; times in ns.")
      .def_ro("device_id", &Timeline::Device::device_id)
      .def_ro("begin_ns", &Timeline::Device::begin_ns)
      .def_ro("end_ns", &Timeline::Device::end_ns)
      .def_ro("busy_ns", &Timeline::Device::busy_ns, "union of all its work")
      .def_ro("kernel_ns", &Timeline::Device::kernel_ns, "union of its kernels")
      .def_ro("utilization", &Timeline::Device::utilization, "kernel_ns / (end_ns - begin_ns)")
      .def_ro("most_concurrent", &Timeline::Device::most_concurrent);
  nb::class_<Timeline>(m, "Timeline", "Device work over time.")
      .def_prop_ro(
          "spans",
          [](const Timeline& t) {
            std::vector<TimelineSpan> spans;
            spans.reserve(t.spans.size());
            for (size_t i = 0; i < t.spans.size(); ++i) spans.push_back(t.spans[i]);
            return spans;
          },
          "Ordered by device, stream and start. A new list each time.")
      .def_ro("total_duration", &Timeline::total_duration,
              "ns from the first start to the last end")
      .def_ro("gpu_utilization", &Timeline::gpu_utilization,
              "0 to 1: the mean of the devices' utilization")
      .def_ro("max_concurrent_ops", &Timeline::max_concurrent_ops)
      .def_ro("devices", &Timeline::devices)
      .def_ro("time_at_concurrency", &Timeline::time_at_concurrency,
              "[n]: ns in which exactly n operations ran");
  using Timelines = Own<TimelineBuilder>;
  nb::class_<Timelines>(m, "TimelineBuilder", "Builds a Timeline from events.")
      .def(nb::init<>())
      .def(
          "add_event",
          [](Timelines& self, TraceEvent event) {
            briefly(self.lock, [&] { self.addEvent(event); });
          },
          nb::arg("event"))
      .def(
          "add_events",
          [](Timelines& self, const Events& events) {
            alone(self.lock, [&] { self.addEvents(events); });
          },
          nb::arg("events"))
      .def("build", [](Timelines& self) { return alone(self.lock, [&] { return self.build(); }); })
      .def("clear", [](Timelines& self) { alone(self.lock, [&] { self.clear(); }); });
  m.def(
      "timeline_of",
      [](TraceFile& file) {
        const auto loaded = file.whole();
        return interruptible([&] { return timelineOf(loaded->trace); });
      },
      nb::arg("file"));

  nb::class_<TimelineViewConfig>(m, "TimelineViewConfig", "Settings of a TimelineViewer.")
      .def(nb::init<>())
      .def_rw("width", &TimelineViewConfig::width, "columns of the drawing, at least 20")
      .def_rw("max_rows", &TimelineViewConfig::max_rows,
              "maximal number of streams; the busiest are shown")
      .def_rw("show_timestamps", &TimelineViewConfig::show_timestamps)
      .def_rw("show_duration", &TimelineViewConfig::show_duration)
      .def_prop_rw(
          "fill_char",
          [](const TimelineViewConfig& c) {
            return c.fill_char == 0 ? std::string() : std::string(1, c.fill_char);
          },
          [](TimelineViewConfig& c, const std::string& text) {
            if (text.size() > 1) {
              raise({ErrorCode::kInvalidArgument, "must be one ASCII character, or \"\" for blocks",
                     "fill_char"});
            }
            c.fill_char = text.empty() ? '\0' : text[0];
          });
  nb::class_<TimelineViewer>(m, "TimelineViewer", "A timeline as text.")
      .def(nb::init<>())
      .def(nb::init<TimelineViewConfig>(), nb::arg("config"))
      .def("render", &TimelineViewer::render, nb::arg("timeline"), Released())
      .def("render_stream", &TimelineViewer::renderStream, nb::arg("timeline"),
           nb::arg("stream_id"), nb::arg("device_id") = 0, Released())
      .def("render_stats", &TimelineViewer::renderStats, nb::arg("timeline"), Released());

  nb::enum_<GPUState>(m, "GPUState", "State of a stream.")
      .value("Idle", GPUState::Idle)
      .value("Queued", GPUState::Queued)
      .value("Running", GPUState::Running)
      .value("Waiting", GPUState::Waiting)
      .value("Complete", GPUState::Complete);
  nb::class_<StateTransition>(m, "StateTransition", "A change of a stream's state; times in ns.")
      .def_ro("from_state", &StateTransition::from)
      .def_ro("to_state", &StateTransition::to)
      .def_ro("when", &StateTransition::when)
      .def_ro("correlation_id", &StateTransition::correlation_id)
      .def_ro("reason", &StateTransition::reason);
  nb::class_<StateHistory>(m, "GPUStateHistory", "A stream's transitions.")
      .def_ro("device_id", &StateHistory::device_id)
      .def_ro("stream_id", &StateHistory::stream_id)
      .def_ro("transitions", &StateHistory::transitions);
  nb::class_<GPUStreamState>(m, "GPUStreamState", "One stream's states.")
      .def(nb::init<>())
      .def(nb::init<uint32_t, uint32_t>(), nb::arg("device_id"), nb::arg("stream_id"))
      .def_prop_ro("device_id", &GPUStreamState::deviceId)
      .def_prop_ro("stream_id", &GPUStreamState::streamId)
      .def("current_state", &GPUStreamState::currentState)
      .def("state_at", &GPUStreamState::stateAt, nb::arg("when"))
      .def("transitions", &GPUStreamState::transitions)
      .def(
          "time_in_states", [](const GPUStreamState& s) { return byState(s.timeInStates()); },
          "ns by state, from the first transition to the last")
      .def("utilization", &GPUStreamState::utilization)
      .def("transition_to", &GPUStreamState::transitionTo, nb::arg("to"), nb::arg("when"),
           nb::arg("correlation_id") = 0, nb::arg("reason") = "")
      .def("reset", &GPUStreamState::reset);
  nb::class_<GPUStateMachine::Statistics>(m, "GPUStateMachineStatistics",
                                          "Counts, and ns by state.")
      .def_ro("total_events", &GPUStateMachine::Statistics::total_events)
      .def_ro("total_transitions", &GPUStateMachine::Statistics::total_transitions)
      .def_ro("transitions_per_stream", &GPUStateMachine::Statistics::transitions_per_stream)
      .def_ro("total_time_per_state", &GPUStateMachine::Statistics::total_time_per_state)
      .def_ro("overall_utilization", &GPUStateMachine::Statistics::overall_utilization);
  using Machine = Own<GPUStateMachine>;  // its getters compute the states on first use
  nb::class_<Machine>(m, "GPUStateMachine", "The state of each stream at any time.")
      .def(nb::init<>())
      .def(
          "process_event",
          [](Machine& self, TraceEvent event) {
            briefly(self.lock, [&] { self.processEvent(event); });
          },
          nb::arg("event"))
      .def(
          "process_events",
          [](Machine& self, const Events& events) {
            alone(self.lock, [&] { self.processEvents(events); });
          },
          nb::arg("events"))
      .def(
          "get_stream_state",
          [](Machine& self, uint32_t stream, uint32_t device) {
            return alone(self.lock, [&] {
              const GPUStreamState* const state = self.getStreamState(stream, device);
              return state == nullptr ? std::nullopt : std::optional(*state);
            });
          },
          nb::arg("stream_id"), nb::arg("device_id") = 0, "None: there is no such stream.")
      .def("get_all_streams",
           [](Machine& self) {
             return alone(self.lock, [&] {
               std::vector<GPUStreamState> all;
               for (const GPUStreamState* state : self.getAllStreams()) all.push_back(*state);
               return all;
             });
           })
      .def("get_statistics",
           [](Machine& self) { return alone(self.lock, [&] { return self.getStatistics(); }); })
      .def("export_history",
           [](Machine& self) { return alone(self.lock, [&] { return self.exportHistory(); }); })
      .def("reset", [](Machine& self) { alone(self.lock, [&] { self.reset(); }); });

  nb::enum_<DependencyType>(m, "DependencyType", "Reason why an operation had to wait for another.")
      .value("None_", DependencyType::None)
      .value("Sequential", DependencyType::Sequential)
      .value("Synchronization", DependencyType::Synchronization)
      .value("HostBarrier", DependencyType::HostBarrier)
      .value("Memory", DependencyType::Memory);
  nb::class_<OperationDependency>(m, "OperationDependency",
                                  "An operation that had to wait for another.")
      .def_ro("from_correlation_id", &OperationDependency::from_correlation_id)
      .def_ro("to_correlation_id", &OperationDependency::to_correlation_id)
      .def_ro("type", &OperationDependency::type)
      .def_ro("description", &OperationDependency::description)
      .def_ro("exact", &OperationDependency::exact, "True: recorded in the trace; False: inferred");
  nb::class_<InstructionNode>(m, "InstructionNode", "An operation of the dependency graph.")
      .def_ro("correlation_id", &InstructionNode::correlation_id)
      .def_ro("name", &InstructionNode::name)
      .def_ro("stream_id", &InstructionNode::stream_id)
      .def_ro("device_id", &InstructionNode::device_id)
      .def_ro("start_time", &InstructionNode::start_time)
      .def_ro("end_time", &InstructionNode::end_time)
      .def_ro("dependencies", &InstructionNode::dependencies)
      .def_ro("dependents", &InstructionNode::dependents);
  using Builder = InstructionStreamBuilder;
  nb::class_<Builder::Statistics>(m, "InstructionStreamStatistics",
                                  "Counts of operations and dependencies.")
      .def_ro("total_operations", &Builder::Statistics::total_operations)
      .def_ro("kernel_launches", &Builder::Statistics::kernel_launches)
      .def_ro("memory_operations", &Builder::Statistics::memory_operations)
      .def_ro("synchronizations", &Builder::Statistics::synchronizations)
      .def_ro("total_dependencies", &Builder::Statistics::total_dependencies)
      .def_ro("operations_per_stream", &Builder::Statistics::operations_per_stream);
  using Instructions = Own<Builder>;
  nb::class_<Instructions>(
      m, "InstructionStreamBuilder",
      "Finds the dependencies of each operation. Call analyze() before the getters.")
      .def(nb::init<>())
      .def(
          "add_event",
          [](Instructions& self, TraceEvent event) {
            briefly(self.lock, [&] { self.addEvent(event); });
          },
          nb::arg("event"))
      .def(
          "add_events",
          [](Instructions& self, const Events& events) {
            alone(self.lock, [&] { self.addEvents(events); });
          },
          nb::arg("events"))
      .def("analyze", [](Instructions& self) { alone(self.lock, [&] { self.analyze(); }); })
      .def("get_execution_order",
           [](Instructions& self) {
             return alone(self.lock, [&] { return self.getExecutionOrder(); });
           })
      .def("get_nodes",
           [](Instructions& self) { return alone(self.lock, [&] { return self.getNodes(); }); })
      .def("get_dependencies",
           [](Instructions& self) {
             return alone(self.lock, [&] { return self.getDependencies(); });
           })
      .def(
          "get_stream_operations",
          [](Instructions& self, uint32_t stream) {
            return alone(self.lock, [&] { return self.getStreamOperations(stream); });
          },
          nb::arg("stream_id"))
      .def(
          "has_dependency",
          [](Instructions& self, uint64_t from, uint64_t to) {
            return alone(self.lock, [&] { return self.hasDependency(from, to); });
          },
          nb::arg("from_correlation_id"), nb::arg("to_correlation_id"))
      .def(
          "get_call_chain",
          [](Instructions& self, uint64_t id) {
            return alone(self.lock, [&] { return self.getCallChain(id); });
          },
          nb::arg("correlation_id"))
      .def(
          "get_statistics",
          [](Instructions& self) { return alone(self.lock, [&] { return self.getStatistics(); }); })
      .def("export_to_dot",
           [](Instructions& self) { return alone(self.lock, [&] { return self.exportToDot(); }); })
      .def("clear", [](Instructions& self) { alone(self.lock, [&] { self.clear(); }); });
}

}  // namespace tracesmith::python
