// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include "events.hpp"
#include "text.hpp"
#include "tracesmith/cluster/time_sync.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

void bindConfig(nb::module_& m) {
  nb::enum_<TimeSyncMethod>(m, "TimeSyncMethod", "Which clock is the reference.")
      .value("SystemClock", TimeSyncMethod::SystemClock, "CLOCK_REALTIME, right or wrong")
      .value("NTP", TimeSyncMethod::NTP, "UTC, by this host's time daemon or by a time server")
      .value("PTP", TimeSyncMethod::PTP, "the clock of a network adapter; not read yet")
      .value("CUDA", TimeSyncMethod::CUDA, "of a GPU: correlate_gpu_timestamps()")
      .value("MACA", TimeSyncMethod::MACA, "of a GPU: correlate_gpu_timestamps()")
      .value("Custom", TimeSyncMethod::Custom, "by set_manual_offset()");
  m.def("time_sync_method_to_string", &timeSyncMethodToString, nb::arg("method"),
        "\"System Clock\", \"NTP\", ...");
  m.def("string_to_time_sync_method", &stringToTimeSyncMethod, nb::arg("name"),
        "None for a name that is none.");

  nb::class_<TimeSyncConfig>(m, "TimeSyncConfig", "Which clock a TimeSync asks for, and how.")
      .def(
          "__init__",
          [](TimeSyncConfig* self, TimeSyncMethod method, std::string ntp_server,
             std::string ptp_interface, uint32_t sync_interval_ms,
             uint64_t max_acceptable_offset_ns) {
            new (self) TimeSyncConfig{method, std::move(ntp_server), std::move(ptp_interface),
                                      sync_interval_ms, max_acceptable_offset_ns};
          },
          nb::arg("method") = TimeSyncMethod::SystemClock, nb::arg("ntp_server") = "",
          nb::arg("ptp_interface") = "", nb::arg("sync_interval_ms") = 1000,
          nb::arg("max_acceptable_offset_ns") = 0)
      .def_rw("method", &TimeSyncConfig::method)
      .def_rw("ntp_server", &TimeSyncConfig::ntp_server,
              "\"name\" or \"name:port\"; \"\": this host's chrony or ntpd")
      .def_rw("ptp_interface", &TimeSyncConfig::ptp_interface)
      .def_rw("sync_interval_ms", &TimeSyncConfig::sync_interval_ms,
              "synchronize() asks no more often; 0: always")
      .def_rw("max_acceptable_offset_ns", &TimeSyncConfig::max_acceptable_offset_ns,
              "a larger uncertainty is a failure; 0: any will do");
}

void bindSync(nb::module_& m) {
  nb::class_<SyncResult>(m, "SyncResult", "An offset, or why there is none; true if it is one.")
      .def_ro("success", &SyncResult::success)
      .def_ro("offset_ns", &SyncResult::offset_ns, "the reference minus this host's clock")
      .def_ro("round_trip_ns", &SyncResult::round_trip_ns, "0: nothing was asked over a network")
      .def_ro("uncertainty_ns", &SyncResult::uncertainty_ns, "offset_ns is at most so far off")
      .def_ro("sync_time", &SyncResult::sync_time, "CLOCK_MONOTONIC, ns")
      .def_ro("error_message", &SyncResult::error_message)
      .def("__bool__", [](const SyncResult& self) { return self.success; })
      .def("__repr__", [](const SyncResult& self) {
        return self.success ? fmt::format("SyncResult(offset_ns={}, uncertainty_ns={})",
                                          self.offset_ns, self.uncertainty_ns)
                            : fmt::format("SyncResult(error_message='{}')", self.error_message);
      });
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<TimeSync>(m, "TimeSync",
                       "The time of another clock for times of this host (CLOCK_MONOTONIC, ns, as "
                       "in traces), with a bound.")
      .def(
          "__init__",
          [](TimeSync* self, const std::optional<TimeSyncConfig>& config) {
            new (self) TimeSync(config.value_or(TimeSyncConfig()));
          },
          nb::arg("config") = nb::none())
      .def("initialize", &TimeSync::initialize, unlocked,
           "Synchronizes for the first time; False: get_last_sync_result() says why.")
      .def("finalize", &TimeSync::finalize)
      .def("is_initialized", &TimeSync::isInitialized)
      .def("get_config", [](const TimeSync& self) { return self.getConfig(); })
      .def("synchronize", &TimeSync::synchronize, unlocked)
      .def("synchronize_with_node", &TimeSync::synchronizeWithNode, nb::arg("host"), unlocked,
           "The clock of another host, where `tracesmith clock serve` runs, minus this one.")
      .def("to_synchronized_time", &TimeSync::toSynchronizedTime, nb::arg("local_ns"))
      .def("to_local_time", &TimeSync::toLocalTime, nb::arg("reference_ns"))
      .def("uncertainty_at", &TimeSync::uncertaintyAt, nb::arg("local_ns"),
           "How far off to_synchronized_time() can be, ns; None: unknown.")
      .def("get_current_offset", &TimeSync::getCurrentOffset)
      .def("set_manual_offset", &TimeSync::setManualOffset, nb::arg("offset_ns"))
      .def(
          "correlate_gpu_timestamps",
          [](TimeSync& self, uint32_t gpu_id,
             const std::vector<std::pair<int64_t, int64_t>>& gpu_and_host) {
            return self.correlateGPUTimestamps(gpu_id, gpu_and_host);
          },
          nb::arg("gpu_id"), nb::arg("gpu_and_host"),
          "Pairs of a GPU's time and this host's at the same moment, both ns.")
      .def("get_gpu_offset", &TimeSync::getGPUOffset, nb::arg("gpu_id"),
           "This host's clock minus that of the GPU; 0: not known.")
      .def("set_gpu_offset", &TimeSync::setGPUOffset, nb::arg("gpu_id"), nb::arg("offset_ns"))
      .def("get_average_offset", &TimeSync::getAverageOffset)
      .def("get_offset_std_dev", &TimeSync::getOffsetStdDev)
      .def("get_sync_count", &TimeSync::getSyncCount)
      .def("get_last_sync_result", &TimeSync::getLastSyncResult)
      .def("clear_history", &TimeSync::clearHistory);
}

void bindCorrelator(nb::module_& m) {
  nb::class_<CorrelationPoint>(m, "CorrelationPoint", "One moment on two clocks, ns.")
      .def_ro("source_time", &CorrelationPoint::source_time)
      .def_ro("reference_time", &CorrelationPoint::reference_time)
      .def_ro("recorded_at", &CorrelationPoint::recorded_at);
  nb::class_<DriftModel>(m, "DriftModel",
                         "reference = source + offset + drift_rate * (source - of the first point)")
      .def_ro("offset", &DriftModel::offset)
      .def_ro("drift_rate", &DriftModel::drift_rate)
      .def_ro("r_squared", &DriftModel::r_squared)
      .def_ro("valid", &DriftModel::valid);
  nb::class_<ClockCorrelator>(m, "ClockCorrelator",
                              "Joins clocks by moments that are known on both.")
      .def(nb::init<>())
      .def("add_correlation_point", &ClockCorrelator::addCorrelationPoint, nb::arg("source"),
           nb::arg("source_time"), nb::arg("reference_time"))
      .def("get_correlation_points", &ClockCorrelator::getCorrelationPoints, nb::arg("source"))
      .def("calculate_offset", &ClockCorrelator::calculateOffset, nb::arg("source"),
           "The median of reference minus source; None without points.")
      .def(
          "correct_timestamps",
          [](const ClockCorrelator& self, const std::string& source,
             const std::vector<int64_t>& times) { return self.correctTimestamps(source, times); },
          nb::arg("source"), nb::arg("times"))
      .def("calculate_drift_model", &ClockCorrelator::calculateDriftModel, nb::arg("source"))
      .def("apply_drift_correction", &ClockCorrelator::applyDriftCorrection, nb::arg("source"),
           nb::arg("time"))
      .def("clear", &ClockCorrelator::clear)
      .def("clear_source", &ClockCorrelator::clearSource, nb::arg("source"));
}

}  // namespace

void bindTimeSync(nb::module_& m) {
  bindConfig(m);
  bindSync(m);
  bindCorrelator(m);
}

}  // namespace tracesmith::python
