// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/symbolized_file.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

/// Metadata key: the part before this row was a complete trace. The file is complete again once it
/// has an end marker.
constexpr std::string_view kCompleteBefore = "symbolize.complete_before";

bool wasComplete(const TraceReader& reader, const Trace& trace) {
  return reader.complete() || trace.metadataValue(kCompleteBefore) == "1";
}

bool hasJitCode(const Trace& trace) {
  for (size_t i = 0; i < trace.frame.size(); ++i) {
    if (trace.frame.module_offset[i] == 0 && trace.frame.function[i] == StringId::kNone)
      return true;
  }
  return false;
}

/// Reads the dictionaries. If some frames are in no module, it also reads the events, which tell
/// the process of such a frame.
Result<Trace> readForNames(TraceReader& reader) {
  TS_TRY(Trace trace, reader.read({.tables = {TableId::kLoss}}));
  if (!hasJitCode(trace)) return trace;
  return reader.read(
      {.tables = {TableId::kHostCall, TableId::kKernel, TableId::kCopy, TableId::kFill,
                  TableId::kSync, TableId::kMemoryEvent, TableId::kRange}});
}

/// The blocks appended to a trace. `mark` is small and comes first: from then until the end marker
/// is written, the file has no end.
struct Addition {
  bool complete = false;
  Trace mark;
  Trace symbols;
};

Status append(const std::string& path, const TraceReader& reader, uint32_t strings_in_file,
              const Addition& addition) {
  TS_TRY(TraceWriter writer, TraceWriter::resume(path, reader.endOfBlocks(), strings_in_file));
  if (!addition.mark.metadata.empty()) TS_CHECK_OK(writer.write(addition.mark));
  TS_CHECK_OK(writer.write(addition.symbols));
  return addition.complete ? writer.finish() : Status{};
}

Status copyAll(const std::string& from, int to) {
  const int fd = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failErrno(errno, "cannot open", from);
  ssize_t n = 0;
  do {
    n = ::sendfile(to, fd, nullptr, size_t{1} << 30);
  } while (n > 0 || (n < 0 && errno == EINTR));
  const int error = errno;
  ::close(fd);
  return n < 0 ? Status(failErrno(error, "cannot copy", from)) : Status{};
}

}  // namespace

Result<SymbolizedFile> symbolizeFile(const std::string& path, const std::string& output,
                                     const SymbolizerOptions& options) {
  const bool in_place = output.empty() || sameFile(path, output);
  TS_TRY(TraceReader reader, TraceReader::open(path));
  struct stat session {};
  if (!reader.complete() && ::stat((path + ".session").c_str(), &session) == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "its recording is not over, or was killed: finish it first, with 'tracesmith "
                "recover " +
                    path + ".session'",
                path);
  }
  TS_TRY(Trace trace, readForNames(reader));
  SymbolizedFile result;
  const size_t symbols_in_file = trace.symbol.size();
  const auto strings_in_file = static_cast<uint32_t>(trace.strings.size());
  Addition addition;
  addition.complete = wasComplete(reader, trace);
  if (addition.complete && trace.metadataValue(kCompleteBefore) != "1") {
    addition.mark.metadata.push({trace.strings.intern(kCompleteBefore), trace.strings.intern("1")});
    addition.mark.strings = trace.strings;
  }
  Symbolizer symbolizer(options);
  result.report = symbolizer.symbolize(trace);
  result.damaged = !reader.losses().empty();
  result.complete = addition.complete;
  result.written =
      trace.symbol.size() > symbols_in_file || (addition.complete && !reader.complete());
  for (size_t i = symbols_in_file; i < trace.symbol.size(); ++i) {
    addition.symbols.symbol.push(trace.symbol.row(i));
  }
  addition.symbols.strings = std::move(trace.strings);
  if (in_place) {
    if (result.written) TS_CHECK_OK(append(path, reader, strings_in_file, addition));
    return result;
  }
  TS_TRY(TargetFile target, TargetFile::open(output));
  Status status = copyAll(path, target.fd());
  if (status && result.written) {
    status = append(target.place(), reader, strings_in_file, addition);
  }
  if (!status) return tl::unexpected<Error>(target.named(status.error()));
  TS_CHECK_OK(target.finish());
  return result;
}

}  // namespace tracesmith
