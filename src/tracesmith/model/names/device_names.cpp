// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/device_names.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

namespace tracesmith {
namespace {

template <class Id, class Table>
bool isRow(Id id, const Table& table) {
  return id != Id::kNone && indexOf(id) < table.size();
}

/// The qualifiers that may distinguish streams with equal names, in the order they are tried.
constexpr size_t kQualifiers = 4;
std::array<std::string, kQualifiers> qualifiersOf(const Trace& trace, size_t stream) {
  const DeviceId device = trace.stream.device_id[stream];
  const ProcessId process = trace.stream.process_id[stream];
  const ContextId context = trace.stream.context_id[stream];
  const uint64_t handle = trace.stream.handle[stream];
  return {isRow(device, trace.device)
              ? fmt::format("device {}", trace.device.ordinal[indexOf(device)])
              : "",
          isRow(process, trace.process) ? fmt::format("pid {}", trace.process.pid[indexOf(process)])
                                        : "",
          isRow(context, trace.context)
              ? fmt::format("context {}", trace.context.ordinal[indexOf(context)])
              : "",
          handle != 0 ? fmt::format("{:#x}", handle) : ""};
}

}  // namespace

std::string deviceName(const Trace& trace, DeviceId id) {
  if (!isRow(id, trace.device)) return "unknown device";
  std::string name = fmt::format("device {}", trace.device.ordinal[indexOf(id)]);
  const std::string_view own = trace.text(trace.device.name[indexOf(id)]);
  if (!own.empty() && own != name) name += fmt::format(": {}", own);
  return name;
}

std::string streamName(const Trace& trace, StreamId id) {
  if (!isRow(id, trace.stream)) return "no stream";
  const std::string_view own = trace.text(trace.stream.name[indexOf(id)]);
  return own.empty() ? fmt::format("stream {}", trace.stream.ordinal[indexOf(id)])
                     : std::string(own);
}

std::vector<std::string> distinctStreamNames(const Trace& trace, bool within_devices) {
  std::vector<std::string> names;
  std::map<std::pair<DeviceId, std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < trace.stream.size(); ++i) {
    names.push_back(streamName(trace, idAt<StreamId>(i)));
    const DeviceId device = within_devices ? trace.stream.device_id[i] : DeviceId::kNone;
    groups[{device, names.back()}].push_back(i);
  }
  for (const auto& [key, streams] : groups) {
    if (streams.size() < 2) continue;
    std::map<size_t, std::string> added;
    for (size_t q = within_devices ? 1 : 0; q < kQualifiers; ++q) {
      // Add it only if it distinguishes more streams than the qualifiers added before.
      std::map<std::string, std::set<std::string>> values;
      std::map<size_t, std::string> wider = added;
      for (const size_t i : streams) {
        const std::string value = qualifiersOf(trace, i)[q];
        values[added[i]].insert(value);
        if (!value.empty()) wider[i] += (added[i].empty() ? "" : ", ") + value;
      }
      for (const size_t i : streams) {
        if (values[added[i]].size() < 2) wider[i] = added[i];
      }
      added = std::move(wider);
    }
    std::map<std::string, size_t> count, seen;
    for (const size_t i : streams) ++count[added[i]];
    for (const size_t i : streams) {
      std::string& text = added[i];
      if (count[text] > 1) {
        const size_t number = ++seen[text];
        text += fmt::format("{}#{}", text.empty() ? "" : ", ", number);
      }
      names[i] += fmt::format(" ({})", text);
    }
  }
  return names;
}

}  // namespace tracesmith
