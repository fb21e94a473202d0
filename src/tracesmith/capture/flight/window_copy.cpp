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
  if (!losses_.empty()) {
    Trace more;
    more.strings = definitions_.strings;
    more.loss.push({.id = idAt<LossId>(definitions_.loss.size()),
                    .source = more.strings.intern("flight recorder"),
                    .emitted = losses_.size(),
                    .dropped = losses_.size(),
                    .reason = more.strings.intern("blocks of its parts were damaged: " +
                                                  losses_.front().reason)});
    TS_CHECK_OK(writer.write(more));
  }
  return writer.finish();
}

}  // namespace tracesmith
