// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_stats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/table_text.hpp"

namespace tracesmith {
namespace {

struct Group {
  const char* kind;   ///< in JSON and CSV
  const char* title;  ///< in text
  std::vector<NamedStats> names;
};

double bytesPerSecond(const NamedStats& s) {
  return s.time.total_ns > 0
             ? static_cast<double>(s.bytes) * 1e9 / static_cast<double>(s.time.total_ns)
             : 0;
}

void writeText(const std::vector<Group>& groups, size_t limit, const TerminalStyle& style,
               Output& out) {
  using A = TextTable::Align;
  bool first = true;
  for (const Group& group : groups) {
    if (group.names.empty()) continue;
    const bool bytes = std::any_of(group.names.begin(), group.names.end(),
                                   [](const NamedStats& s) { return s.bytes > 0; });
    std::vector<TextTable::Column> columns = {{group.title, A::kLeft, true, true},
                                              {"count", A::kRight},
                                              {"total", A::kRight},
                                              {"share", A::kRight},
                                              {"mean", A::kRight},
                                              {.header = "p50", .align = A::kRight, .spare = 3},
                                              {.header = "p95", .align = A::kRight, .spare = 2},
                                              {.header = "p99", .align = A::kRight, .spare = 5},
                                              {.header = "min", .align = A::kRight, .spare = 4},
                                              {.header = "max", .align = A::kRight, .spare = 1}};
    if (bytes) {
      columns.push_back({"bytes", A::kRight});
      columns.push_back({"rate", A::kRight});
    }
    TextTable table(columns);
    for (size_t i = 0; i < std::min(limit, group.names.size()); ++i) {
      const NamedStats& s = group.names[i];
      auto time = [&](int64_t ns) { return formatDuration(ns, style.micro()); };
      std::vector<std::string> cells = {printable(s.name),
                                        formatCount(s.time.count),
                                        time(s.time.total_ns),
                                        formatPercent(s.share),
                                        time(static_cast<int64_t>(s.time.mean_ns)),
                                        time(s.time.p50_ns),
                                        time(s.time.p95_ns),
                                        time(s.time.p99_ns),
                                        time(s.time.min_ns),
                                        time(s.time.max_ns)};
      if (bytes) {
        cells.push_back(formatBytes(s.bytes));
        cells.push_back(s.bytes > 0 ? formatBandwidth(bytesPerSecond(s)) : "");
      }
      table.add(std::move(cells));
    }
    if (!first) out.put('\n');
    first = false;
    std::vector<std::string> left_out;
    out.write(table.render(style, "", &left_out));
    if (!left_out.empty()) {
      out.write(style.dim(fmt::format("left out for width: {}\n", fmt::join(left_out, ", "))));
    }
    uint64_t first_launches = 0;
    for (const NamedStats& stats : group.names) first_launches += stats.first_launches;
    if (first_launches > 0) {
      out.write(style.dim(fmt::format("{} first {}, including a just-in-time compile\n",
                                      formatCount(first_launches),
                                      first_launches == 1 ? "launch" : "launches")));
    }
    if (group.names.size() > limit) {
      out.write(
          style.dim(fmt::format("and {} more names\n", formatCount(group.names.size() - limit))));
    }
  }
  if (first) out.write("no events\n");
}

void writeRecords(const std::vector<Group>& groups, size_t limit, bool json, Output& out) {
  JsonWriter writer(out);
  if (json) {
    writer.beginArray();
  } else {
    out.write(
        "kind,name,count,total_ns,share,mean_ns,p50_ns,p95_ns,p99_ns,min_ns,max_ns,bytes,"
        "first_launches\n");
  }
  for (const Group& group : groups) {
    for (size_t i = 0; i < std::min(limit, group.names.size()); ++i) {
      const NamedStats& s = group.names[i];
      if (json) {
        writer.beginObject().field("kind", group.kind).field("name", s.name);
        writer.field("count", s.time.count).field("total_ns", s.time.total_ns);
        writer.field("share", s.share).field("mean_ns", s.time.mean_ns);
        writer.field("p50_ns", s.time.p50_ns).field("p95_ns", s.time.p95_ns);
        writer.field("p99_ns", s.time.p99_ns).field("min_ns", s.time.min_ns);
        writer.field("max_ns", s.time.max_ns).field("bytes", s.bytes);
        writer.field("first_launches", s.first_launches).endObject();
        continue;
      }
      std::string line = group.kind;
      line += ',';
      appendCsvField(line, s.name);
      line += fmt::format(",{},{},{},{},{},{},{},{},{},{},{}\n", s.time.count, s.time.total_ns,
                          s.share, s.time.mean_ns, s.time.p50_ns, s.time.p95_ns, s.time.p99_ns,
                          s.time.min_ns, s.time.max_ns, s.bytes, s.first_launches);
      out.write(line);
    }
  }
  if (json) {
    writer.endArray();
    out.put('\n');
  }
}

}  // namespace

void showStats(const Trace& trace, const EventMatcher& matches, size_t limit, ListFormat format,
               bool full_names, const TerminalStyle& style, Output& out) {
  const KeepRow keep = [&](TableId table, size_t row) { return matches(table, row); };
  std::vector<Group> groups = {{"kernel", "kernel", kernelStats(trace, keep)},
                               {"memory", "copy or fill", copyStats(trace, keep)},
                               {"host_call", "host call", hostCallStats(trace, keep)},
                               {"range", "range", rangeStats(trace, keep)}};
  if (format == ListFormat::kText) {
    if (!full_names) {
      const KernelLabels labels(trace);
      for (NamedStats& kernel : groups[0].names) kernel.name = labels.label(kernel.name);
    }
    writeText(groups, limit, style, out);
  } else {
    writeRecords(groups, limit, format == ListFormat::kJson, out);
  }
}

}  // namespace tracesmith
