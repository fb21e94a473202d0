// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/vendor_frames.hpp"

#include <string_view>
#include <unordered_map>

namespace tracesmith {
namespace {

bool isVendors(std::string_view module) {
  const std::string_view file = module.substr(module.rfind('/') + 1);  // npos + 1 is 0
  return file.starts_with("libcupti.so") || file.starts_with("libcuda.so") ||
         file.starts_with("libcudart.so");
}

class VendorFrames {
 public:
  explicit VendorFrames(const Trace& trace) : trace_(trace) {}

  CallPathId without(CallPathId path) {
    const auto [known, fresh] = known_.try_emplace(path, path);
    if (!fresh) return known->second;
    CallPathId at = path;
    while (at != CallPathId::kNone && indexOf(at) < trace_.call_path.size()) {
      const FrameId frame = trace_.call_path.frame[indexOf(at)];
      if (frame == FrameId::kNone || indexOf(frame) >= trace_.frame.size()) break;
      if (!isVendors(trace_.text(trace_.frame.module[indexOf(frame)]))) {
        known->second = at;
        break;
      }
      const CallPathId parent = trace_.call_path.parent[indexOf(at)];
      if (parent >= at) break;  // a path lies after its parent
      at = parent;
    }
    return known->second;
  }

 private:
  const Trace& trace_;
  std::unordered_map<CallPathId, CallPathId> known_;
};

}  // namespace

void dropVendorFrames(Trace& trace) {
  VendorFrames vendors(trace);
  const auto drop = [&](auto& table) {
    for (auto& path : table.call_path_id) {
      if (path != CallPathId::kNone) path = vendors.without(path);
    }
  };
  drop(trace.host_call);
  drop(trace.kernel);
  drop(trace.copy);
  drop(trace.fill);
  drop(trace.sync);
  drop(trace.memory_event);
}

}  // namespace tracesmith
