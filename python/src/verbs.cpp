// SPDX-License-Identifier: Apache-2.0
// Comparisons, predictions, checks of recordings and exports: the functions behind the commands
// `diff`, `whatif`, `races`, `determinism` and `export`.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "calls.hpp"
#include "errors.hpp"
#include "report_tables.hpp"
#include "text.hpp"
#include "trace_file.hpp"
#include "trace_races.hpp"
#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/files/distinct_files.hpp"
#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/emulate/what_if_report.hpp"
#include "tracesmith/export/flame/folded_stacks.hpp"
#include "tracesmith/export/formats/export_request.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/export/text/table_text.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/replay_source.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Texts = std::vector<std::string>;
using Files = std::vector<TraceFile*>;

ReportTables diff(const Files& before, const Files& after, const Texts& paths, uint64_t limit) {
  const bool by_run = before.size() > 1 || after.size() > 1;
  // A run that counts twice would make any difference look certain.
  if (by_run) check(areDistinctFiles(paths));
  std::vector<OpenTrace::Loaded> a, b;
  for (TraceFile* file : before) a.push_back(file->whole());
  for (TraceFile* file : after) b.push_back(file->whole());
  for (const auto* runs : {&a, &b}) {
    for (const auto& run : *runs) check(haveOneClock(run->trace));
  }
  return interruptible([&] {
    std::vector<DiffRun> runs_a, runs_b;
    for (const auto& [from, to] : {std::pair(&a, &runs_a), std::pair(&b, &runs_b)}) {
      for (const auto& run : *from) {
        if (isCancelled()) return ReportTables({});  // and KeyboardInterrupt is raised
        to->push_back(DiffRun::of(run->trace, !by_run));
      }
    }
    return ReportTables(diffReport(runs_a, runs_b, {}, limit));
  });
}

template <class T>
void parseAll(const Texts& texts, Result<T> (*parse)(std::string_view), const char* argument,
              std::vector<T>& out) {
  for (const std::string& text : texts) {
    Result<T> parsed = parse(text);
    if (!parsed) raise({parsed.error().code, parsed.error().message, argument});
    out.push_back(std::move(*parsed));
  }
}

ReportTables whatIf(TraceFile& file, const Texts& scale, const Texts& remove, const Texts& fuse,
                    const Texts& bandwidth, std::optional<uint32_t> streams, bool allow_unmatched,
                    bool check_model, uint64_t limit) {
  WhatIf change;
  parseAll(scale, &WhatIf::parseScale, "scale", change.scale);
  parseAll(bandwidth, &WhatIf::parseBandwidth, "bandwidth", change.bandwidth);
  parseAll(remove, &NameSelector::parse, "remove", change.remove);
  parseAll(fuse, &NameSelector::parse, "fuse", change.fuse);
  change.streams = streams;
  WhatIfOptions options;
  options.emulator.allow_unmatched = allow_unmatched;
  options.check = check_model;
  options.limit = limit;
  const auto loaded = file.whole();
  check(haveOneClock(loaded->trace));
  return ReportTables(
      valueOf(interruptible([&] { return whatIfReport(loaded->trace, change, options); })));
}

ReportTables determinism(const nb::object& path, std::optional<uint32_t> runs, uint64_t seed,
                         const std::string& device, double step_limit_s,
                         std::optional<uint64_t> pid) {
  struct Found {
    std::vector<ReportTable> tables;
    std::string lines;
  };
  const std::string from = pathOf(path);
  DeterminismOptions options;
  options.executor.device = device;
  options.runs = runs.value_or(0);
  options.seed = seed;
  options.step_limit_s = step_limit_s;
  Found found = valueOf(interruptible([&]() -> Result<Found> {
    TS_TRY(ReplaySource source, ReplaySource::open(from, pid));
    TS_TRY(const DeterminismReport report, checkDeterminism(source.plan, source.reader, options));
    Found made{determinismReport(source.plan, report), ""};
    for (const std::string& warning : source.warnings(from)) {
      made.lines += printable(warning) + "\n";
      std::string& note = made.tables.front().note;
      note += (note.empty() ? "" : "; ") + warning;
    }
    for (const Divergence& divergence : report.divergences) {
      made.lines += printable(divergenceLine(source.plan, divergence)) + "\n";
    }
    return made;
  }));
  const auto tables = found.tables;
  return ReportTables(std::move(found.tables),
                      [lines = found.lines, tables](const auto& style, Output& out) {
                        out.write(lines);
                        writeReportText(tables, style, out);
                      });
}

struct ExportOptions {
  std::string format;
  std::string table;
  std::string by;
  std::optional<int64_t> from_ns, to_ns;
  bool counters = true;
  bool flows = true;
  bool full = false;
  bool all_frames = false;
};

using Warnings = std::vector<std::string>;

/// Returns what the export lacks.
Result<Warnings> exportAs(TraceReader& reader, const Trace& trace, const ExportRequest& request,
                          const std::string& to) {
  Warnings lacks;
  if (!reader.losses().empty()) {
    lacks.push_back(
        fmt::format("the trace is damaged in {} places, whose events are not in the export",
                    reader.losses().size()));
  }
  const bool aligns = isMerged(trace) && (request.format == ExportFormat::kPerfetto ||
                                          request.format == ExportFormat::kChromeJson);
  std::optional<Trace> aligned;
  if (aligns) {
    lacks.push_back(alignRanks(aligned.emplace(trace)));
  }
  TS_TRY(const ExportResult made, runExport(request, reader, aligned ? *aligned : trace, to));
  lacks.insert(lacks.end(), made.lacks.begin(), made.lacks.end());
  return lacks;
}

/// Errors: an option makes no sense.
Result<ExportRequest> requestOf(const ExportOptions& wanted, ExportFormat format) {
  TS_TRY(NamePattern all_names, NamePattern::parse("", "name"));
  ExportRequest request{.format = format,
                        .options = {},
                        .choice = {std::move(all_names), wanted.counters, wanted.flows},
                        .by = stackWeightByName(wanted.by),
                        .recording_of = {}};
  TS_TRY(request.table, tableByName(wanted.table));
  request.options.counters = wanted.counters;
  request.options.flows = wanted.flows;
  request.options.full_args = wanted.full;
  request.options.all_frames = wanted.all_frames;
  request.options.from_ns = wanted.from_ns;
  request.options.to_ns = wanted.to_ns;
  if (request.by && !isFlameGraph(format)) {
    return fail(ErrorCode::kInvalidArgument, "is for flame graphs: speedscope, folded or svg",
                "by");
  }
  return request;
}

Warnings exportFile(TraceFile& file, const std::string& from, const nb::object& path,
                    const ExportOptions& options) {
  const std::string to = pathOf(path);
  auto format = exportFormatByPath(to).value_or(ExportFormat::kPerfetto);
  if (!options.format.empty()) {
    const auto named = exportFormatByName(options.format);
    if (!named) {
      std::string all;
      for (const std::string& name : exportFormatNames()) all += (all.empty() ? "" : ", ") + name;
      raise({ErrorCode::kInvalidArgument,
             "'" + options.format + "' is not a format; there are " + all, "format"});
    }
    format = *named;
  }
  if (to == "-") {
    raise({ErrorCode::kInvalidArgument, "is standard output of the command only; give a path", to});
  }
  if (options.from_ns && options.to_ns && *options.to_ns <= *options.from_ns) {
    raise({ErrorCode::kInvalidArgument, "must be after from_ns", "to_ns"});
  }
  if (sameFile(from, to)) {
    raise({ErrorCode::kInvalidArgument, "would be overwritten; choose another path", to});
  }
  const auto loaded = file.whole();
  const ExportRequest request = valueOf(requestOf(options, format));
  return valueOf(file.withReader(
      [&](TraceReader& reader) { return exportAs(reader, loaded->trace, request, to); }));
}

/// Lines "frame;frame;frame weight": of stacks weighted `by`, or of ranges, calls and device work.
std::string folded(TraceFile& file, const std::string& by) {
  const auto loaded = file.whole();
  std::string text;
  check(interruptible([&]() -> Status {
    Output out = Output::toString(&text);
    const Selection all(loaded->trace, std::nullopt, std::nullopt, {});
    if (by.empty()) {
      writeFoldedStacks(loaded->trace, all, out);
    } else {
      writeFoldedByStack(loaded->trace, all, stackWeightByName(by).value_or(StackWeight::kHostTime),
                         out);
    }
    return out.finish();
  }));
  return text;
}

}  // namespace

void bindVerbs(nb::module_& m) {
  m.def("diff", &diff, nb::arg("before"), nb::arg("after"), nb::arg("paths"), nb::arg("limit"));
  m.def("what_if", &whatIf, nb::arg("file"), nb::arg("scale"), nb::arg("remove"), nb::arg("fuse"),
        nb::arg("bandwidth"), nb::arg("streams").none(), nb::arg("allow_unmatched"),
        nb::arg("check"), nb::arg("limit"));
  m.def(
      "races",
      [](const nb::object& path, bool possible, const std::optional<RaceTrialLimits>& limits) {
        const std::string from = pathOf(path);
        return valueOf(interruptible([&] { return racesOf(from, possible, limits); }));
      },
      nb::arg("path"), nb::arg("possible"), nb::arg("limits").none());
  nb::class_<RaceTrialLimits>(m, "RaceTrialLimits")
      .def(nb::init<uint32_t, std::string, double>(), nb::arg("replays"), nb::arg("device"),
           nb::arg("step_limit_s"));
  m.def("folded", &folded, nb::arg("file"), nb::arg("by"));
  m.def("determinism", &determinism, nb::arg("path"), nb::arg("runs").none(), nb::arg("seed"),
        nb::arg("device"), nb::arg("step_limit_s"), nb::arg("pid").none());
  m.def(
      "export_file",
      [](TraceFile& file, const nb::object& from, const nb::object& path, std::string format,
         std::string table, std::string by, std::optional<int64_t> from_ns,
         std::optional<int64_t> to_ns, bool counters, bool flows, bool full, bool all_frames) {
        return exportFile(file, pathOf(from), path,
                          {std::move(format), std::move(table), std::move(by), from_ns, to_ns,
                           counters, flows, full, all_frames});
      },
      nb::arg("file"), nb::arg("source"), nb::arg("path"), nb::arg("format"), nb::arg("table"),
      nb::arg("by"), nb::arg("from_ns").none(), nb::arg("to_ns").none(), nb::arg("counters"),
      nb::arg("flows"), nb::arg("full"), nb::arg("all_frames"));
}

}  // namespace tracesmith::python
