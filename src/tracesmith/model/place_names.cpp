// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/place_names.hpp"

#include <fmt/format.h>

namespace tracesmith {

std::string deviceName(const Trace& trace, DeviceId id) {
  if (id == DeviceId::kNone || indexOf(id) >= trace.device.size()) return "unknown device";
  std::string name = fmt::format("device {}", trace.device.ordinal[indexOf(id)]);
  const std::string_view own = trace.text(trace.device.name[indexOf(id)]);
  if (!own.empty() && own != name) name += fmt::format(": {}", own);
  return name;
}

std::string streamName(const Trace& trace, StreamId id) {
  if (id == StreamId::kNone || indexOf(id) >= trace.stream.size()) return "no stream";
  const std::string_view own = trace.text(trace.stream.name[indexOf(id)]);
  return own.empty() ? fmt::format("stream {}", trace.stream.ordinal[indexOf(id)])
                     : std::string(own);
}

}  // namespace tracesmith
