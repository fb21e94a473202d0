// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/job_ranks.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::cli {
namespace {

/// A hint what to do, for errors from code that cannot know it.
std::string_view remedy(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotATrace:
      return "traces are files from 'tracesmith profile' (.sbt) or from other tools (see "
             "'tracesmith import -h')";
    case ErrorCode::kTooNew:
      return "read it with a newer TraceSmith";
    default:
      return "";
  }
}

/// Whether another tool's trace, imported by this command, was damaged; the import itself is not.
bool g_source_damaged = false;

/// Reports which parts of another tool's trace could not be used.
Result<TraceReader> openTrace(const std::string& path) {
  import::ImportCounts counts;
  TS_TRY(TraceReader reader, import::openTrace(path, counts));
  g_source_damaged = reportImportLosses(path, counts) || g_source_damaged;
  return reader;
}

}  // namespace

bool reportImportLosses(const std::string& path, const import::ImportCounts& counts) {
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, counts.damage.size()); ++i) {
    const import::SourceDamage& d = counts.damage[i];
    say(d.bytes == 0 && d.offset == 0
            ? fmt::format("{}: {}", path, d.reason)  // the reason has the position
        : d.bytes == 0 ? fmt::format("{}: at byte {} of the document: {}", path, d.offset, d.reason)
                       : fmt::format("{}: {} bytes at {} of the document could not be used: {}",
                                     path, d.bytes, d.offset, d.reason));
  }
  if (counts.damage.size() > kShown) {
    uint64_t more = 0;
    for (size_t i = kShown; i < counts.damage.size(); ++i) more += counts.damage[i].places;
    say(fmt::format("{}: and {} more places", path, more));
  }
  return !counts.damage.empty();
}

bool isTraceFile(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;  // a pipe is read only once
  std::array<char, sbt::kMagic.size()> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file.gcount() == start.size() &&
         std::equal(start.begin(), start.end(), sbt::kMagic.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Result<TraceReader> openTraceFile(const std::string& path) {
  const BusyLine busy("reading " + path);
  Result<TraceReader> reader = openTrace(path);
  if (!reader) return tl::unexpected<Error>(explainError(reader.error(), path));
  return reader;
}

Result<TraceFile> readTraceFile(const std::string& path, const ReadOptions& options) {
  return readTraceFile(path, [&](const TraceReader&) { return options; });
}

Result<TraceFile> readTraceFile(const std::string& path,
                                const std::function<ReadOptions(const TraceReader&)>& choose) {
  const BusyLine busy("reading " + path);
  Result<TraceReader> reader = openTrace(path);
  Result<Trace> trace = fail(ErrorCode::kInternal, "not read");
  if (reader) trace = reader->read(choose(*reader));
  if (!reader || !trace) {
    return tl::unexpected<Error>(explainError(reader ? trace.error() : reader.error(), path));
  }
  return TraceFile{path, std::move(*reader), std::move(*trace)};
}

Result<TraceFile> readTraceWindow(const std::string& path, std::optional<int64_t> from_ns,
                                  std::optional<int64_t> to_ns, bool with_sources) {
  const BusyLine busy("reading " + path);
  Result<TraceReader> reader = openTrace(path);
  if (!reader) return tl::unexpected<Error>(explainError(reader.error(), path));
  const Result<std::optional<int64_t>> begin = reader->beginNs();
  if (!begin) return tl::unexpected<Error>(explainError(begin.error(), path));
  ReadOptions options;
  bool moves = false;  // its times will, when its ranks are aligned
  if (reader->rows(TableId::kRank) > 0) {
    const Result<Trace> ranks = reader->read({.tables = {TableId::kRank}});
    if (!ranks) return tl::unexpected<Error>(explainError(ranks.error(), path));
    moves = !haveOneClock(*ranks);
  }
  const bool whole = moves || (with_sources && reader->rows(TableId::kSource) > 0);
  if (!whole && *begin && from_ns) options.from_ns = endOf(**begin, *from_ns);
  if (!whole && *begin && to_ns) options.to_ns = endOf(**begin, *to_ns);
  Result<Trace> trace = reader->read(options);
  if (!trace) return tl::unexpected<Error>(explainError(trace.error(), path));
  if (!moves) trace->begin_ns = *begin;
  return TraceFile{path, std::move(*reader), std::move(*trace)};
}

Error explainError(Error error, const std::string& path) {
  if (error.where.empty()) error.where = path;
  const std::string_view hint = remedy(error.code);
  if (!hint.empty()) error.message += fmt::format("; {}", hint);
  // An unreadable file is a failure, whatever its code; exit code 2 is for invalid command lines.
  if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kNotATrace;
  return error;
}

int reportLosses(const TraceReader& reader, const std::string& path, int code) {
  return reportLosses(reader.losses(), reader, path, code);
}

int reportLosses(const std::vector<DataLoss>& losses, const TraceReader& reader,
                 const std::string& path, int code) {
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, losses.size()); ++i) {
    const DataLoss& loss = losses[i];
    say(loss.bytes == 0 ? fmt::format("{}: at offset {}: {}", path, loss.offset, loss.reason)
                        : fmt::format("{}: {} bytes at offset {} could not be read: {}", path,
                                      loss.bytes, loss.offset, loss.reason));
  }
  if (losses.size() > kShown) {
    say(fmt::format("{}: and {} more places ('tracesmith info' lists them all)", path,
                    losses.size() - kShown));
  }
  if (!reader.complete()) {
    say(
        fmt::format("{}: the end is missing; it is still being written, or its recording was cut "
                    "short: showing what is there (see 'tracesmith recover -h')",
                    path));
  }
  for (const DataLoss& skipped : reader.skipped()) {
    say(fmt::format("{}: skipped at offset {}: {}", path, skipped.offset, skipped.reason));
  }
  const bool damaged = !losses.empty() || !reader.complete() || g_source_damaged;
  return damaged && code == kExitOk ? static_cast<int>(kExitPartlyRead) : code;
}

std::vector<DataLoss> furtherLosses(const std::vector<DataLoss>& losses,
                                    const TraceReader& reader) {
  const std::vector<DataLoss>& known = reader.losses();
  std::vector<DataLoss> further;
  std::copy_if(losses.begin(), losses.end(), std::back_inserter(further), [&](const DataLoss& a) {
    return std::none_of(known.begin(), known.end(), [&](const DataLoss& b) {
      return a.offset == b.offset && a.reason == b.reason;
    });
  });
  return further;
}

Result<TimeWindow> windowOf(const Trace& trace, std::optional<int64_t> from_ns,
                            std::optional<int64_t> to_ns) {
  if (from_ns && to_ns && *from_ns >= *to_ns) {
    return fail(ErrorCode::kInvalidArgument, "--to must be later than --from");
  }
  TimeWindow window;
  const int64_t begin = timeRange(trace).begin_ns;
  if (from_ns) window.from_ns = endOf(begin, *from_ns);
  if (to_ns) window.to_ns = endOf(begin, *to_ns);
  return window;
}

namespace {

/// "there is no stream 9; the trace has 7, 13 and 20".
Error noSuchNumber(const char* what, uint64_t number, std::vector<uint32_t> there) {
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  constexpr size_t kMost = 12;
  std::string known;
  for (size_t i = 0; i < std::min(there.size(), kMost); ++i) {
    const bool last = i + 1 == there.size();
    known += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", there[i]);
  }
  if (there.size() > kMost) known += fmt::format(" and {} more", there.size() - kMost);
  return {ErrorCode::kInvalidArgument, fmt::format("there is no {} {}; the trace has {}", what,
                                                   number, known.empty() ? "none" : known)};
}

}  // namespace

Result<std::vector<StreamId>> streamsOf(const Trace& trace, const std::vector<uint64_t>& numbers) {
  std::vector<StreamId> out;
  const auto& there = trace.stream.ordinal;
  for (const uint64_t number : numbers) {
    const size_t before = out.size();
    for (size_t i = 0; i < there.size(); ++i) {
      if (there[i] == number) out.push_back(idAt<StreamId>(i));
    }
    if (out.size() == before) {
      return tl::unexpected(noSuchNumber("stream", number, {there.begin(), there.end()}));
    }
  }
  return out;
}

Result<std::vector<StreamId>> streamsOfDevices(const Trace& trace,
                                               const std::vector<uint64_t>& devices,
                                               std::vector<StreamId> streams) {
  if (devices.empty()) return streams;
  const auto& there = trace.device.ordinal;
  for (const uint64_t number : devices) {
    if (std::find(there.begin(), there.end(), number) != there.end()) continue;
    return tl::unexpected(noSuchNumber("device", number, {there.begin(), there.end()}));
  }
  std::vector<StreamId> out;
  for (size_t s = 0; s < trace.stream.size(); ++s) {
    const auto stream = idAt<StreamId>(s);
    const DeviceId device = trace.deviceOf(stream);
    const bool wanted =
        device != DeviceId::kNone && indexOf(device) < there.size() &&
        std::find(devices.begin(), devices.end(), there[indexOf(device)]) != devices.end();
    const bool chosen =
        streams.empty() || std::find(streams.begin(), streams.end(), stream) != streams.end();
    if (wanted && chosen) out.push_back(stream);
  }
  if (out.empty()) out.push_back(StreamId::kNone);
  return out;
}

namespace {

struct NumberRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// "0-3,7".
Result<std::vector<NumberRange>> numberRanges(std::string_view list) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no list of ranks like 0-3,7", list), "--ranks");
  };
  std::vector<NumberRange> ranges;
  for (const char *at = list.data(), *const end = at + list.size();; ++at) {
    NumberRange range;
    auto read = std::from_chars(at, end, range.first);
    if (read.ec != std::errc()) return bad();
    range.last = range.first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, range.last);
      if (read.ec != std::errc()) return bad();
    }
    if (range.last < range.first) return bad();
    ranges.push_back(range);
    if (read.ptr == end) return ranges;
    if (*read.ptr != ',') return bad();
    at = read.ptr;
  }
}

}  // namespace

Status keepRanks(TraceFile& file, std::string_view list) {
  if (list.empty()) return {};
  if (!isMerged(file.trace)) {
    return fail(ErrorCode::kInvalidArgument, "is not a merged trace, so it has no --ranks",
                file.path);
  }
  TS_TRY(const std::vector<NumberRange> wanted, numberRanges(list));
  std::vector<RankId> chosen;
  const auto& numbers = file.trace.rank.number;
  for (const NumberRange& range : wanted) {
    const size_t before = chosen.size();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto rank = idAt<RankId>(i);
      if (numbers[i] < range.first || numbers[i] > range.last) continue;
      if (std::find(chosen.begin(), chosen.end(), rank) == chosen.end()) chosen.push_back(rank);
    }
    if (chosen.size() > before) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no rank {} that is not named already; the trace has {}",
                            range.first, rankNumbersText(file.trace)),
                file.path);
  }
  std::sort(chosen.begin(), chosen.end());
  file.trace = partOfRanks(file.trace, chosen);
  return {};
}

Status chooseRank(TraceFile& file, std::optional<uint64_t> rank) {
  Trace& trace = file.trace;
  if (isMerged(trace)) {
    if (!rank && haveOneClock(trace)) {
      say(fmt::format("{}: {}", file.path, alignRanks(trace)));
      return {};
    }
    if (!rank) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("holds the ranks {}, each in its own clock; choose one with --rank",
                              rankNumbersText(trace)),
                  file.path);
    }
    const RankId id =
        *rank > UINT32_MAX ? RankId::kNone : rankByNumber(trace, static_cast<uint32_t>(*rank));
    if (id == RankId::kNone) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("there is no rank {}; the trace has {}", *rank, rankNumbersText(trace)),
          file.path);
    }
    trace = partOfRank(trace, id);
    return {};
  }
  if (!rank) return {};
  const std::optional<import::JobRank> known = import::rankInTrace(trace);
  if (!known) {
    return fail(ErrorCode::kInvalidArgument, "the trace does not have a rank", file.path);
  }
  if (known->number != *rank) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the trace is of rank {}", known->number),
                file.path);
  }
  return {};
}

Status chooseOrAlignRanks(TraceFile& file, std::optional<uint64_t> rank) {
  if (rank || !isMerged(file.trace)) return chooseRank(file, rank);
  say(fmt::format("{}: {}", file.path, alignRanks(file.trace)));
  return {};
}

}  // namespace tracesmith::cli
