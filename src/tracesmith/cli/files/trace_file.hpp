// SPDX-License-Identifier: Apache-2.0
// Opens the trace that a command is about, and says what of it could not be read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracesmith/cli/definition/command.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::cli {

struct TraceFile {
  std::string path;
  TraceReader reader;
  Trace trace;
};

/// Reads `path`, telling what went wrong with a hint what to do about it. Another tool's trace is
/// imported into memory first; what of it could not be used is said.
Result<TraceFile> readTraceFile(const std::string& path, const ReadOptions& options = {});
/// The same, with options that depend on what the file has.
Result<TraceFile> readTraceFile(const std::string& path,
                                const std::function<ReadOptions(const TraceReader&)>& choose);

/// Only what may lie within a window of time; `from_ns` and `to_ns` count from the trace's first
/// event, which the result knows.
Result<TraceFile> readTraceWindow(const std::string& path, std::optional<int64_t> from_ns,
                                  std::optional<int64_t> to_ns);

/// An error of reading `path` with a hint what to do about it, and the code that a command fails
/// with.
Error inWordsForPeople(Error error, const std::string& path);

/// The last step of a command that used `file`: names each loss on standard error. Returns 3 when
/// something was damaged, else `code`. A trace that was merely cut, or is still being written, is
/// whole as far as it goes: that is said, and the code is 3 as well.
int reportLosses(const TraceReader& reader, const std::string& path, int code);

/// Those of `losses` that `reader`, of the same file, does not know of: reportLosses() does not say
/// them.
std::vector<DataLoss> furtherLosses(const std::vector<DataLoss>& losses, const TraceReader& reader);

/// Names what an import could not use, on standard error; true when something was damaged.
bool sayWhatWasLost(const std::string& path, const import::ImportCounts& counts);

/// Times on the command line count from the trace's first event.
struct TimeWindow {
  std::optional<int64_t> from_ns, to_ns;
};
Result<TimeWindow> windowOf(const Trace& trace, std::optional<int64_t> from_ns,
                            std::optional<int64_t> to_ns);

/// All streams that the program knows by these numbers; fails naming one that the trace has not.
Result<std::vector<StreamId>> streamsOf(const Trace& trace, const std::vector<uint64_t>& numbers);

/// The streams of the devices that the program knows by these numbers, of `streams` where those are
/// not empty; never empty: where there is none, "no stream". Fails naming devices that the trace
/// has not. Without devices: `streams`.
Result<std::vector<StreamId>> streamsOfDevices(const Trace& trace,
                                               const std::vector<uint64_t>& devices,
                                               std::vector<StreamId> streams);

/// Fails when the trace does not say of which rank it is, or says another.
Status checkRank(const Trace& trace, uint64_t rank);

}  // namespace tracesmith::cli
