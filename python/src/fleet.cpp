// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "report_tables.hpp"
#include "text.hpp"
#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/fleet/fleet_diff.hpp"
#include "tracesmith/fleet/fleet_report.hpp"
#include "tracesmith/fleet/fleet_run.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

std::string_view nameOf(FleetFile::State state) {
  switch (state) {
    case FleetFile::State::kComputed:
      return "computed";
    case FleetFile::State::kStored:
      return "stored";
    case FleetFile::State::kRepeated:
      return "repeated";
    case FleetFile::State::kFailed:
      return "failed";
  }
  return "";
}

nb::bytes bytesObject(const Bytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

FleetSummary summaryOf(const nb::bytes& bytes) {
  return valueOf(decodeSummary({reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()}));
}

/// What Python's FleetFile has, in its order.
nb::tuple tupleOf(const FleetFile& file) {
  return nb::make_tuple(file.path, nameOf(file.state), file.message, file.not_stored,
                        nb::bytes(file.trace.trace_id.data(), file.trace.trace_id.size()),
                        file.trace.bytes, file.trace.end_hash, file.trace.created_ns,
                        file.trace.host, bytesObject(file.summary));
}

nb::list summarizeFiles(const std::vector<std::string>& paths, const std::string& folder,
                        bool stores, bool again, unsigned threads) {
  FleetOptions options;
  options.folder = folder;
  options.stores = stores;
  options.computes_again = again;
  options.keeps_each = true;
  options.threads = threads;
  const FleetRun run = interruptible([&] { return runFleet(paths, options); });
  raiseFromRemoteFiles();
  nb::list out;
  for (const FleetFile& file : run.files) out.append(tupleOf(file));
  return out;
}

ReportTables fleetDiff(const std::vector<nb::bytes>& before, const std::vector<nb::bytes>& after,
                       uint64_t limit) {
  std::vector<FleetSummary> a, b;
  for (const nb::bytes& summary : before) a.push_back(summaryOf(summary));
  for (const nb::bytes& summary : after) b.push_back(summaryOf(summary));
  return interruptible([&] { return ReportTables(tracesmith::fleetDiff(a, b, limit)); });
}

}  // namespace

void bindFleet(nb::module_& m) {
  nb::class_<FleetSummary>(m, "FleetSummary",
                           "Where the time of one trace went, or of very many together. Summaries "
                           "are added with +, in any order and grouping with the same result.")
      .def(nb::init<>())
      .def_static("from_bytes", &summaryOf, nb::arg("data"),
                  "NotATraceError, TooNewError, DamagedError: the bytes are no summary, one of a "
                  "newer version, or broken.")
      .def("to_bytes", [](const FleetSummary& self) { return bytesObject(encodeSummary(self)); })
      .def("__getstate__",
           [](const FleetSummary& self) { return bytesObject(encodeSummary(self)); })
      .def("__setstate__", [](FleetSummary& self,
                              const nb::bytes& data) { new (&self) FleetSummary(summaryOf(data)); })
      .def(
          "__add__",
          [](const FleetSummary& a, const FleetSummary& b) {
            FleetSummary sum = a;
            sum.add(b);
            return sum;
          },
          nb::is_operator())
      .def(
          "add_bytes", [](FleetSummary& self, const nb::bytes& data) { self.add(summaryOf(data)); },
          nb::arg("data"), "Adds a summary as to_bytes() gives it.")
      .def(
          "__eq__", [](const FleetSummary& a, const FleetSummary& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def_ro("traces", &FleetSummary::traces, "number of traces")
      .def_ro("ranks", &FleetSummary::ranks, "number of ranks in them")
      .def(
          "report_tables",
          [](const FleetSummary& self, uint64_t limit, bool short_names) {
            return ReportTables(fleetReport(
                self, {.limit = static_cast<size_t>(limit), .short_names = short_names}));
          },
          nb::arg("limit"), nb::arg("short_names"),
          "For Fleet.report(), which returns it as a Report.");
  m.def("summarize_files", &summarizeFiles, nb::arg("paths"), nb::arg("folder"), nb::arg("store"),
        nb::arg("again"), nb::arg("threads"),
        nb::sig(
            "def summarize_files(paths: list[str], folder: str, store: bool, again: bool, "
            "threads: int) -> list[tuple[str, str, str, str, bytes, int, int, int, str, bytes]]"));
  m.def("fleet_diff", &fleetDiff, nb::arg("before"), nb::arg("after"), nb::arg("limit"),
        nb::sig("def fleet_diff(before: list[bytes], after: list[bytes], limit: int) -> "
                "ReportTables"));
  m.def(
      "fleet_files",
      [](const std::vector<std::string>& paths) {
        std::vector<std::string> files = interruptible([&] { return findFleetFiles(paths); });
        raiseFromRemoteFiles();
        return files;
      },
      nb::arg("paths"), "The traces and summaries in folders and those within, and other paths.");
}

}  // namespace tracesmith::python
