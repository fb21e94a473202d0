// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "tracesmith/replay/replay_engine.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

void bindReplays(nb::module_& m) {
  nb::enum_<ReplayMode>(m, "ReplayMode", "The part of a recording to replay.")
      .value("Full", ReplayMode::Full)
      .value("Partial", ReplayMode::Partial)
      .value("DryRun", ReplayMode::DryRun)
      .value("StreamSpecific", ReplayMode::StreamSpecific);
  nb::enum_<SchedulingPolicy>(m, "SchedulingPolicy",
                              "Decides which of several ready operations goes first.")
      .value("RoundRobin", SchedulingPolicy::RoundRobin)
      .value("Priority", SchedulingPolicy::Priority)
      .value("OriginalTiming", SchedulingPolicy::OriginalTiming);
  nb::class_<ReplayConfig>(m, "ReplayConfig", "Settings of a replay (docs/replay.md).")
      .def(nb::init<>())
      .def_rw("mode", &ReplayConfig::mode)
      .def_rw("scheduling", &ReplayConfig::scheduling)
      .def_rw("start_time", &ReplayConfig::start_time, nb::arg("value").none(),
              "for Partial: ns since the first recorded call")
      .def_rw("end_time", &ReplayConfig::end_time, nb::arg("value").none())
      .def_rw("start_operation_id", &ReplayConfig::start_operation_id, nb::arg("value").none())
      .def_rw("end_operation_id", &ReplayConfig::end_operation_id, nb::arg("value").none())
      .def_rw("stream_id", &ReplayConfig::stream_id, nb::arg("value").none(), "for StreamSpecific")
      .def_rw("validate_order", &ReplayConfig::validate_order)
      .def_rw("validate_dependencies", &ReplayConfig::validate_dependencies)
      .def_rw("validate_timing", &ReplayConfig::validate_timing, "only for simulated replays")
      .def_rw("compute_checksums", &ReplayConfig::compute_checksums)
      .def_rw("verbose", &ReplayConfig::verbose)
      .def_rw("pause_on_error", &ReplayConfig::pause_on_error,
              "does not pause: keeps only the first error")
      .def_rw("time_scale", &ReplayConfig::time_scale,
              "0: as fast as the device goes; 1: at the recorded times; 0.5: twice as fast")
      .def_rw("device", &ReplayConfig::device,
              "number or part of the name; \"simulated\": no device")
      .def_rw("step_limit_s", &ReplayConfig::step_limit_s);
  nb::class_<ReplayResult>(m, "ReplayResult", "Result of a replay; durations in ns.")
      .def_ro("success", &ReplayResult::success)
      .def_ro("deterministic", &ReplayResult::deterministic,
              "executed, and all read-backs are equal; False for simulated replays")
      .def_ro("simulated", &ReplayResult::simulated, "nothing was executed: times are virtual")
      .def_ro("operations_executed", &ReplayResult::operations_executed)
      .def_ro("operations_simulated", &ReplayResult::operations_simulated)
      .def_ro("operations_skipped", &ReplayResult::operations_skipped)
      .def_ro("operations_total", &ReplayResult::operations_total)
      .def_ro("operations_failed", &ReplayResult::operations_failed)
      .def_ro("replay_duration", &ReplayResult::replay_duration)
      .def_ro("original_duration", &ReplayResult::original_duration)
      .def_ro("order_violations", &ReplayResult::order_violations)
      .def_ro("dependency_violations", &ReplayResult::dependency_violations)
      .def_ro("timing_violations", &ReplayResult::timing_violations)
      .def_ro("read_backs", &ReplayResult::read_backs)
      .def_ro("read_backs_equal", &ReplayResult::read_backs_equal)
      .def_ro("device", &ReplayResult::device)
      .def_ro("errors", &ReplayResult::errors)
      .def_ro("warnings", &ReplayResult::warnings)
      .def("summary", &ReplayResult::summary)
      .def("__repr__", &ReplayResult::summary);
  using Engine = Own<ReplayEngine>;
  nb::class_<Engine>(m, "ReplayEngine",
                     "Executes recordings, and times other traces on a virtual clock.")
      .def(nb::init<>())
      .def(
          "load_trace",
          [](Engine& self, const nb::object& path) {
            const std::string from = pathOf(path);
            check(alone(self.lock, [&] { return self.loadTrace(from); }));
            return true;
          },
          nb::arg("path"), "A recording (.sbr), a trace, or another tool's trace.")
      .def(
          "load_events",
          [](Engine& self, const std::vector<TraceEvent>& events) {
            check(alone(self.lock, [&] { return self.loadEvents(events); }));
            return true;
          },
          nb::arg("events"), "InvalidArgumentError: none of them is an operation.")
      .def(
          "replay",
          [](Engine& self, ReplayConfig config) {
            return alone(self.lock, [&] { return self.replay(config); });
          },
          nb::arg("config") = ReplayConfig())
      .def(
          "has_recording",
          [](Engine& self) { return alone(self.lock, [&] { return self.hasRecording(); }); },
          "Whether the loaded file can be executed if there is a device.");
}

}  // namespace tracesmith::python
