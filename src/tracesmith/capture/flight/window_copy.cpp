// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/flight/window_copy.hpp"

#include <utility>

namespace tracesmith {

Status WindowCopy::addPart(const std::string& path, uint64_t until) {
  TS_TRY(sbt::BlockLog log, sbt::BlockLog::open(path, false));
  parts_.push_back({std::move(log), until});
  return {};
}

Status WindowCopy::write(const std::string& path) {
  TS_TRY(TraceWriter writer, TraceWriter::create(path));
  TS_CHECK_OK(writer.write(definitions_));
  for (const Part& part : parts_) {
    TS_CHECK_OK(writer.appendEvents(part.log, part.until, losses_));
  }
  return writer.finish();
}

}  // namespace tracesmith
