// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/event_categories.hpp"

#include <array>
#include <utility>

namespace tracesmith::import {
namespace {

template <class Kind, size_t kCount>
using Words = std::array<std::pair<std::string_view, Kind>, kCount>;

/// The kind of the first entry of `words` that `text` contains.
template <class Kind, size_t kCount>
Kind firstWithin(const Words<Kind, kCount>& words, std::string_view text, Kind otherwise) {
  for (const auto& [word, kind] : words) {
    if (text.find(word) != std::string_view::npos) return kind;
  }
  return otherwise;
}

constexpr Words<ChromeKind, 20> kCategories = {{
    {"kernel", ChromeKind::kKernel},
    {"cuda_runtime", ChromeKind::kHostCall},
    {"cuda_driver", ChromeKind::kHostCall},
    {"gpu_memcpy", ChromeKind::kCopy},
    {"gpu_memset", ChromeKind::kFill},
    {"gpu_user_annotation", ChromeKind::kDeviceRange},
    {"cuda_sync", ChromeKind::kSync},
    {"Kernel", ChromeKind::kKernel},
    {"Runtime", ChromeKind::kHostCall},
    {"Memcpy", ChromeKind::kCopy},
    {"Memset", ChromeKind::kFill},
    {"xpu_runtime", ChromeKind::kHostCall},
    {"xpu_driver", ChromeKind::kHostCall},
    {"mtia_runtime", ChromeKind::kHostCall},
    {"mtia_ccp_events", ChromeKind::kDeviceRange},
    {"glow_runtime", ChromeKind::kHostCall},
    {"privateuse1_runtime", ChromeKind::kHostCall},
    {"privateuse1_driver", ChromeKind::kHostCall},
    {"cuda_profiler_range", ChromeKind::kDeviceRange},
    {"gpu_sync", ChromeKind::kSync},  // TraceSmith's exports
}};

constexpr Words<CopyKind, 19> kCopies = {{
    {"HtoD", CopyKind::kHostToDevice},
    {"DtoH", CopyKind::kDeviceToHost},
    {"DtoD", CopyKind::kDeviceToDevice},
    {"HtoH", CopyKind::kHostToHost},
    {"PtoP", CopyKind::kPeerToPeer},
    {"HostToDevice", CopyKind::kHostToDevice},
    {"DeviceToHost", CopyKind::kDeviceToHost},
    {"DeviceToDevice", CopyKind::kDeviceToDevice},
    {"HostToHost", CopyKind::kHostToHost},
    {"PeerToPeer", CopyKind::kPeerToPeer},
    {"M2D", CopyKind::kHostToDevice},
    {"D2M", CopyKind::kDeviceToHost},
    {"D2D", CopyKind::kDeviceToDevice},
    {"M2S", CopyKind::kUnknown},
    {"host_to_device", CopyKind::kHostToDevice},  // TraceSmith's exports
    {"device_to_host", CopyKind::kDeviceToHost},
    {"device_to_device", CopyKind::kDeviceToDevice},
    {"host_to_host", CopyKind::kHostToHost},
    {"peer_to_peer", CopyKind::kPeerToPeer},
}};

constexpr Words<SyncKind, 10> kSyncs = {{
    {"Stream Wait", SyncKind::kBarrier},
    {"Stream Sync", SyncKind::kStreamWait},
    {"Stream Synchronize", SyncKind::kStreamWait},
    {"Context Sync", SyncKind::kDeviceWait},
    {"Device Sync", SyncKind::kDeviceWait},
    {"Event Sync", SyncKind::kEventWait},
    {"Event Record", SyncKind::kEventRecord},
    {"Event", SyncKind::kEventWait},
    {"barrier", SyncKind::kBarrier},  // TraceSmith's exports
    {"marker", SyncKind::kMarker},
}};

constexpr Words<CallKind, 19> kCalls = {{
    {"LaunchKernel", CallKind::kLaunch},  {"LaunchCooperative", CallKind::kLaunch},
    {"ModuleLaunch", CallKind::kLaunch},  {"GraphLaunch", CallKind::kLaunch},
    {"Launch", CallKind::kLaunch},        {"Memcpy", CallKind::kCopy},
    {"Memset", CallKind::kFill},          {"Synchronize", CallKind::kSync},
    {"StreamWaitEvent", CallKind::kSync}, {"EventRecord", CallKind::kSync},
    {"EventQuery", CallKind::kSync},      {"Malloc", CallKind::kMemory},
    {"MemAlloc", CallKind::kMemory},      {"Free", CallKind::kMemory},
    {"ModuleLoad", CallKind::kBuild},     {"LibraryLoad", CallKind::kBuild},
    {"Create", CallKind::kSetup},         {"Destroy", CallKind::kSetup},
    {"SetDevice", CallKind::kSetup},
}};

/// TraceSmith's exports give host calls two categories, as in "host_call,launch".
constexpr std::string_view kOwnCalls = "host_call,";

}  // namespace

ChromeKind kindOf(std::string_view category) {
  for (const auto& [name, kind] : kCategories) {
    if (category == name) return kind;
  }
  return category.starts_with(kOwnCalls) ? ChromeKind::kHostCall : ChromeKind::kHostRange;
}

CopyKind copyKindOf(std::string_view name) {
  return firstWithin(kCopies, name, CopyKind::kUnknown);
}

SyncKind syncKindOf(std::string_view name) { return firstWithin(kSyncs, name, SyncKind::kUnknown); }

CallKind callKindOf(std::string_view function, std::string_view category) {
  if (!category.starts_with(kOwnCalls)) return firstWithin(kCalls, function, CallKind::kOther);
  category.remove_prefix(kOwnCalls.size());
  for (auto kind = CallKind::kOther; kind <= CallKind::kSetup;
       kind = static_cast<CallKind>(static_cast<int>(kind) + 1)) {
    if (category == toString(kind)) return kind;
  }
  return CallKind::kOther;
}

}  // namespace tracesmith::import
