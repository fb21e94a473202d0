// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/recording/existing_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

bool isEvent(TableId table) {
  return table == TableId::kRecordedCommand ||
         (table >= TableId::kHostCall && table != TableId::kAttribute);
}

std::string hexadecimal(const std::array<uint8_t, 16>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The collector writes the id with its first rows, so only little is read.
std::string sessionIdOf(TraceReader& reader) {
  Trace trace;
  const std::vector<BlockInfo>& blocks = reader.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].table != TableId::kString && blocks[i].table != TableId::kMetadata) continue;
    if (!reader.readBlock(i, trace)) return {};
    if (blocks[i].table != TableId::kMetadata) continue;
    if (const std::string_view id = trace.metadataValue("session_id"); !id.empty()) {
      return std::string(id);
    }
  }
  return {};
}

}  // namespace

ExistingFile inspectFile(const std::string& path) {
  ExistingFile found;
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return found;
  found.kind = ExistingFile::Kind::kOther;
  found.text = "a file that is not a trace";
  if (!S_ISREG(s.st_mode)) return found;
  if (s.st_size == 0) {
    found.kind = ExistingFile::Kind::kEmpty;
    found.text = "an empty file";
    return found;
  }
  auto reader = TraceReader::open(path);
  if (!reader) {
    found.text = "a file that cannot be read as a trace (" + reader.error().message + ")";
    found.has_events = reader.error().code != ErrorCode::kNotATrace;
    return found;
  }
  found.identity = hexadecimal(reader->uuid());
  found.complete = reader->complete();
  found.kind = ExistingFile::Kind::kTrace;
  bool any = false;
  for (const BlockInfo& block : reader->blocks()) {
    any = any || block.rows > 0;
    found.has_events = found.has_events || (block.rows > 0 && isEvent(block.table));
  }
  // An unreadable block may have had events.
  found.has_events = found.has_events || !reader->losses().empty();
  if (!any && !found.complete && reader->losses().empty() && reader->cutBytes() == 0) {
    found.kind = ExistingFile::Kind::kEmpty;
  }
  found.session_id = sessionIdOf(*reader);
  found.text = found.session_id.empty() ? "a trace without a session id"
                                        : "a trace of session " + found.session_id;
  if (found.kind == ExistingFile::Kind::kEmpty) found.text = "a trace without rows";
  return found;
}

}  // namespace tracesmith
