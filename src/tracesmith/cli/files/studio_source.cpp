// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/studio_source.hpp"

#include "tracesmith/export/text/terminal_info.hpp"

namespace tracesmith::cli {

studio::StudioTrace::Source studioSource(const Trace& trace, const TraceReader& reader,
                                         const std::string& path, bool complete,
                                         uint64_t generation) {
  studio::StudioTrace::Source source{
      .path = path, .complete = complete, .info = {}, .generation = generation};
  Output out = Output::toString(&source.info);
  describeTrace(trace, reader, path, {.columns = false, .json = true}, {}, out);
  (void)out.finish();  // a text has room
  return source;
}

}  // namespace tracesmith::cli
