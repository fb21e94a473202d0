// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/what_if_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracesmith/emulate/emulated_path.hpp"
#include "tracesmith/emulate/emulator_check.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;

ReportValue change(int64_t before, int64_t after) {
  if (before == 0) return std::monostate{};
  return static_cast<double>(after - before) / static_cast<double>(before);
}

class Report {
 public:
  Report(const Trace& trace, const WhatIf& change, const WhatIfOptions& options)
      : trace_(trace), change_(change), options_(options) {}

  Result<std::vector<ReportTable>> make() {
    TS_TRY(const EmulatorGraph graph, emulatorGraph(trace_, options_.emulator));
    TS_TRY(const Emulation unchanged, emulate(graph));
    if (!change_.nothing()) TS_CHECK_OK(predict(graph, unchanged));
    if (change_.nothing()) path(graph, unchanged, graph, unchanged);
    if (options_.check) TS_CHECK_OK(check(graph, unchanged));
    facts(graph);
    return std::move(tables_);
  }

 private:
  ReportTable& table(std::string key, std::string title, std::vector<ReportColumn> columns) {
    tables_.push_back({std::move(key), std::move(title), std::move(columns), {}, {}});
    return tables_.back();
  }

  Status predict(const EmulatorGraph& graph, const Emulation& unchanged) {
    std::vector<WhatIfEffect> effects;
    TS_TRY(const EmulatorGraph other, changed(trace_, graph, change_, effects));
    TS_TRY(const Emulation after, emulate(other));
    ReportTable& changes = table("changes", "Changes",
                                 {{"change", "change", Q::kText},
                                  {"matched", "matched", Q::kCount},
                                  {"recorded_ns", "recorded", Q::kNs},
                                  {"calls_removed", "calls removed", Q::kCount},
                                  {"note", "what it assumes", Q::kText}});
    for (const WhatIfEffect& e : effects) {
      changes.rows.push_back({e.change, count(e.matched), e.recorded_ns, count(e.calls), e.note});
    }
    ReportTable& prediction = table("prediction", "Makespan, from the first call to the last end",
                                    {{"what", "", Q::kText},
                                     {"makespan_ns", "makespan", Q::kNs},
                                     {"change", "change", Q::kShare}});
    const int64_t recorded = graph.end_ns - graph.begin_ns;
    prediction.rows.push_back({"recorded", recorded, std::monostate{}});
    prediction.rows.push_back({"unchanged, by the model", unchanged.makespan(), std::monostate{}});
    prediction.rows.push_back(
        {"changed", after.makespan(), tracesmith::change(unchanged.makespan(), after.makespan())});
    prediction.note = "change: between the two times of the model";
    path(graph, unchanged, other, after);
    return {};
  }

  void path(const EmulatorGraph& graph, const Emulation& unchanged, const EmulatorGraph& other,
            const Emulation& after) {
    const bool changed = !change_.nothing();
    const EmulatedPath before_path = EmulatedPath::of(graph, unchanged);
    const EmulatedPath after_path = EmulatedPath::of(other, after);
    ReportTable& parts = table("critical_path", "Critical path: what decides the makespan",
                               {{"part", "part", Q::kText},
                                {"unchanged_ns", "unchanged", Q::kNs},
                                {"share", "share", Q::kShare}});
    if (changed) {
      parts.columns.push_back({"changed_ns", "changed", Q::kNs});
      parts.columns.push_back({"changed_share", "share", Q::kShare});
      parts.columns.push_back({"difference_ns", "difference", Q::kNs});
    }
    for (size_t p = 0; p < kPathParts; ++p) {
      const int64_t a = before_path.total_ns[p];
      const int64_t b = after_path.total_ns[p];
      if (a == 0 && b == 0) continue;
      const auto share = [](int64_t part, int64_t whole) -> ReportValue {
        if (whole <= 0) return std::monostate{};
        return static_cast<double>(part) / static_cast<double>(whole);
      };
      std::vector<ReportValue> row = {std::string(toString(static_cast<PathPart>(p))), a,
                                      share(a, before_path.length())};
      if (changed) row.insert(row.end(), {b, share(b, after_path.length()), b - a});
      parts.rows.push_back(std::move(row));
    }
    ReportTable& names = table("critical_path_names", "Device work on the critical path",
                               {{"name", "name", Q::kText},
                                {"count", "times", Q::kCount},
                                {"unchanged_ns", "unchanged", Q::kNs}});
    if (changed) {
      names.columns.push_back({"changed_count", "times", Q::kCount});
      names.columns.push_back({"changed_ns", "changed", Q::kNs});
    }
    std::map<std::pair<TableId, StringId>, std::pair<EmulatedPath::OnPath, EmulatedPath::OnPath>>
        both;
    for (const auto& on : before_path.work) both[{on.table, on.name}].first = on;
    for (const auto& on : after_path.work) both[{on.table, on.name}].second = on;
    std::vector<std::pair<int64_t, std::vector<ReportValue>>> rows;
    for (const auto& [key, on] : both) {
      std::vector<ReportValue> row = {workName(key.first, key.second), count(on.first.count),
                                      on.first.total_ns};
      if (changed) row.insert(row.end(), {count(on.second.count), on.second.total_ns});
      rows.emplace_back(std::max(on.first.total_ns, on.second.total_ns), std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const size_t most = options_.limit == 0 ? rows.size() : std::min(options_.limit, rows.size());
    for (size_t i = 0; i < most; ++i) names.rows.push_back(std::move(rows[i].second));
    rest(names, rows.size());
  }

  std::string workName(TableId table, StringId name) const {
    const std::string_view text = trace_.text(name);
    if (!text.empty()) return std::string(text);
    return table == TableId::kCopy ? "copy" : table == TableId::kFill ? "fill" : "kernel";
  }

  void rest(ReportTable& table, size_t all) const {
    if (table.rows.size() == all) return;
    if (!table.note.empty()) table.note += "; ";
    table.note += fmt::format("and {} more (--limit 0 shows all)", all - table.rows.size());
  }

  Status check(const EmulatorGraph& graph, const Emulation& unchanged) {
    ReportTable& errors = table("model_errors", "Error of the model on the unchanged trace",
                                {{"what", "host times", Q::kText},
                                 {"recorded_ns", "recorded", Q::kNs},
                                 {"predicted_ns", "by the model", Q::kNs},
                                 {"error", "error", Q::kShare},
                                 {"end_p50_ns", "end error (p50)", Q::kNs},
                                 {"end_p95_ns", "p95", Q::kNs},
                                 {"end_max_ns", "at most", Q::kNs}});
    const auto row = [&](const char* what, const EmulationErrors& e) {
      errors.rows.push_back({what, e.recorded_ns, e.predicted_ns, e.makespanError(), e.end_p50_ns,
                             e.end_p95_ns, e.end_max_ns});
    };
    row("as recorded, waits found", errorsOf(graph, unchanged));
    uint64_t kept = 0;
    const EmulatorGraph typical = withTypicalHost(trace_, graph, &kept);
    TS_TRY(const Emulation emulation, emulate(typical));
    row("re-derived: mean of the others", errorsOf(typical, emulation));
    errors.note = fmt::format(
        "ends of operations, from the start of the trace; {} of {} host times are the only ones of "
        "their kind and are kept",
        kept, graph.steps.size());
    TS_TRY(const Validation validation, validate(trace_, graph));
    ReportTable& iterations =
        table("validation", "Iterations, the second half predicted by the first",
              {{"iteration", "iteration", Q::kText},
               {"recorded_ns", "recorded", Q::kNs},
               {"predicted_ns", "by the model", Q::kNs},
               {"error", "error", Q::kShare}});
    if (!validation.why_not.empty()) {
      iterations.note = validation.why_not;
      return {};
    }
    for (const Validation::Iteration& it : validation.iterations) {
      if (options_.limit != 0 && iterations.rows.size() == options_.limit) break;
      iterations.rows.push_back({it.name, it.recorded_ns, it.predicted_ns, it.error()});
    }
    ReportTable& sum = table("validation_errors", "All of these iterations",
                             {{"iterations", "iterations", Q::kCount},
                              {"mean_error", "mean error", Q::kShare},
                              {"spread", "own variation", Q::kShare},
                              {"total_error", "error of the sum", Q::kShare},
                              {"end_p50_ns", "end error (p50)", Q::kNs},
                              {"end_p95_ns", "p95", Q::kNs},
                              {"unseen", "unseen values", Q::kShare}});
    sum.rows.push_back(
        {count(validation.iterations.size()), validation.meanError(), validation.spread,
         validation.totalError(), validation.end_p50_ns, validation.end_p95_ns,
         validation.values == 0
             ? ReportValue(std::monostate{})
             : static_cast<double>(validation.unseen) / static_cast<double>(validation.values)});
    sum.note = "ends of operations, from the start of their iteration; " + validation.basis;
    ReportTable& list = tables_[tables_.size() - 2];
    rest(list, validation.iterations.size());
    return {};
  }

  void facts(const EmulatorGraph& graph) {
    const EmulatorGraph::Facts& f = graph.facts;
    ReportTable& edges = table("edges", "Dependencies",
                               {{"kind", "kind", Q::kText},
                                {"count", "count", Q::kCount},
                                {"inferred", "inferred", Q::kText}});
    uint64_t inferred = 0;
    uint64_t all = 0;
    const auto counts = graph.edgeCounts();
    for (size_t k = 0; k < counts.size(); ++k) {
      const auto kind = static_cast<EmulatedEdgeKind>(k);
      all += counts[k];
      if (isInferred(kind)) inferred += counts[k];
      if (counts[k] == 0) continue;
      edges.rows.push_back(
          {std::string(toString(kind)), count(counts[k]), isInferred(kind) ? "yes" : "no"});
    }
    const auto share = [](auto part, auto whole) -> ReportValue {
      if (whole == 0) return std::monostate{};
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    table("inferred_edges", "Inferred dependencies, which are not in the trace",
          {{"edges", "edges", Q::kCount},
           {"inferred", "inferred", Q::kCount},
           {"share", "share", Q::kShare}})
        .rows.push_back({count(all), count(inferred), share(inferred, all)});
    table("unmatched", "Device work whose launch is not in the trace",
          {{"operations", "operations", Q::kCount},
           {"queued_before", "queued before the trace", Q::kCount},
           {"unknown", "unknown, as recorded", Q::kCount},
           {"unknown_share", "of the device's time", Q::kShare}})
        .rows.push_back({count(graph.ops.size()), count(f.unmatched_queued),
                         count(f.unmatched_unknown), share(f.unmatched_unknown_ns, f.device_ns)});
    ReportTable& table_of = table("model", "Basis of the model",
                                  {{"what", "what", Q::kText}, {"value", "value", Q::kText}});
    const auto row = [&](const char* what, std::string value) {
      table_of.rows.push_back({what, std::move(value)});
    };
    row("operations, host calls", fmt::format("{}, {}", graph.ops.size(), graph.steps.size() / 2));
    row("onlooker threads, left out", fmt::format("{}", f.ignored_threads));
    row("launch latency of kernels",
        fmt::format("{} ns ({})", f.launch_latency_ns,
                    f.latency_assumed ? "assumed: no launch found its stream idle" : "median"));
    row("gap between kernels", fmt::format("{} ns (median)", f.stream_gap_ns));
    row("copies at once", engines(graph));
    row("room in a full queue",
        f.queue_room == 0 ? "never full, not limited" : fmt::format("{} launches", f.queue_room));
    row("kernels of known occupancy", fmt::format("{} of {}", f.kernels_with_demand, f.kernels));
    row("collectives of several ranks",
        fmt::format("{}; {} lack their other ranks, so their duration includes the wait for them",
                    graph.groups.size(), f.unmatched_collectives));
    row("host calls over 100 us that wait for nothing known",
        fmt::format("{}, {:.3f} ms in total, as recorded", f.long_calls,
                    static_cast<double>(f.long_calls_ns) / 1e6));
    row("started later than known causes explain",
        fmt::format("{} operations, {:.3f} ms in total, kept", f.unexplained,
                    static_cast<double>(f.unexplained_ns) / 1e6));
    if (f.left_out > 0) row("left out: impossible times", fmt::format("{}", f.left_out));
  }

  std::string engines(const EmulatorGraph& graph) const {
    std::map<uint32_t, const EmulatedOp*> by_engine;
    for (const EmulatedOp& op : graph.ops) {
      if (op.engine != EmulatedOp::kNone) by_engine.try_emplace(op.engine, &op);
    }
    std::map<std::string, uint32_t> most;
    for (const auto& [engine, op] : by_engine) {
      uint32_t& there = most[std::string(toString(trace_.copy.kind[op->row]))];
      there = std::max(there, graph.engines[engine]);
    }
    std::string text;
    for (const auto& [direction, n] : most) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", direction, n);
    }
    return text.empty() ? "no copies" : text;
  }

  const Trace& trace_;
  const WhatIf& change_;
  const WhatIfOptions& options_;
  std::vector<ReportTable> tables_;
};

}  // namespace

Result<std::vector<ReportTable>> whatIfReport(const Trace& trace, const WhatIf& change,
                                              const WhatIfOptions& options) {
  return Report(trace, change, options).make();
}

}  // namespace tracesmith
