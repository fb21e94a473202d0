// SPDX-License-Identifier: Apache-2.0
// Opens the trace for a command, and reports what could not be read.
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

/// Whether a file starts as a trace of TraceSmith does.
bool isTraceFile(const std::string& path);

/// Opens `path` without reading its rows. Another tool's trace is imported into memory, and
/// unusable parts are reported.
Result<TraceReader> openTraceFile(const std::string& path);

/// Reads `path`. Errors include a hint what to do. Another tool's trace is imported into memory
/// first, and unusable parts are reported.
Result<TraceFile> readTraceFile(const std::string& path, const ReadOptions& options = {});
/// The same, with options that depend on the file.
Result<TraceFile> readTraceFile(const std::string& path,
                                const std::function<ReadOptions(const TraceReader&)>& choose);

/// Reads only blocks that may overlap a time window. `from_ns` and `to_ns` are relative to the
/// trace's first event, which the result knows. `with_sources`: a trace that has the sources of its
/// rows is read as a whole, because they are found by the rows' numbers.
Result<TraceFile> readTraceWindow(const std::string& path, std::optional<int64_t> from_ns,
                                  std::optional<int64_t> to_ns, bool with_sources = false);

/// Adds a hint what to do to an error of reading `path`, and sets the command's error code.
Error explainError(Error error, const std::string& path);

/// The last step of a command that used `file`: prints each loss to standard error. Returns 3 if
/// the trace is damaged, cut off or still being written, else `code`. A trace that is only cut off
/// or still being written is intact up to its end, and the message says so.
int reportLosses(const TraceReader& reader, const std::string& path, int code);
/// The same with `losses` that `reader`, of the same file, does not know all.
int reportLosses(const std::vector<DataLoss>& losses, const TraceReader& reader,
                 const std::string& path, int code);

/// The `losses` that `reader`, of the same file, does not have, so that reportLosses() does not
/// print them.
std::vector<DataLoss> furtherLosses(const std::vector<DataLoss>& losses, const TraceReader& reader);

/// Prints to standard error what an import could not use; true if something was damaged.
bool reportImportLosses(const std::string& path, const import::ImportCounts& counts);

/// Times on the command line are relative to the trace's first event.
struct TimeWindow {
  std::optional<int64_t> from_ns, to_ns;
};
Result<TimeWindow> windowOf(const Trace& trace, std::optional<int64_t> from_ns,
                            std::optional<int64_t> to_ns);

/// All streams with these numbers, as numbered by the program. Fails if the trace does not have
/// one.
Result<std::vector<StreamId>> streamsOf(const Trace& trace, const std::vector<uint64_t>& numbers);

/// The streams of the devices with these numbers, as numbered by the program; limited to `streams`
/// unless that is empty. Never returns an empty list: if there are none, it has "no stream". Fails
/// if the trace does not have a device. Without devices: `streams`.
Result<std::vector<StreamId>> streamsOfDevices(const Trace& trace,
                                               const std::vector<uint64_t>& devices,
                                               std::vector<StreamId> streams);

/// For --ranks: keeps the ranks of a list like "0-3,7" of a merged trace; "" keeps all. Fails for a
/// list that is none, and if the trace lacks one of them.
Status keepRanks(TraceFile& file, std::string_view list);

/// For --rank: of a merged trace keeps only that rank. Fails if the trace does not have the rank.
/// Without `rank` fails for a merged trace whose ranks have different clocks; if they have one,
/// puts the rank before the names of processes and devices.
Status chooseRank(TraceFile& file, std::optional<uint64_t> rank);

/// The same for viewers: without `rank` aligns the ranks of a merged trace, and says so.
Status chooseOrAlignRanks(TraceFile& file, std::optional<uint64_t> rank);

}  // namespace tracesmith::cli
