// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_dialects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "tracesmith/import/chrome/chrome_importer.hpp"
#include "tracesmith/import/common/event_categories.hpp"

namespace tracesmith::import {
namespace {

bool beginsWithAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.substr(0, word.size()) == word; });
}
bool holdsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

}  // namespace

// CANN's type names:
// - work: AI_CORE, AI_VECTOR_CORE, AIV_SQE, MIX_AIC, MIX_AIV, AI_CPU, FFTS_PLUS, KERNEL_*, VPC_SQE,
//   JPEGD_SQE, DSA_SQE, …
// - copies: SDMA_SQE, PCIE_DMA_SQE, ROCCE_SQE, MEMCPY_ASYNC
// - synchronisation: EVENT_*, NOTIFY_*, PLACE_HOLDER_SQE, WRITE_VALUE_SQE
TableId ascendTaskTable(std::string_view type) {
  if (holdsAny(type, {"DMA", "MEMCPY", "ROCCE"})) return TableId::kCopy;
  if (beginsWithAny(type, {"EVENT_", "NOTIFY_", "PLACE_HOLDER", "WRITE_VALUE", "CDQM"})) {
    return TableId::kSync;
  }
  return TableId::kKernel;
}

CopyKind ascendCopyKind(std::string_view name, std::string_view type) {
  for (const std::string_view text : {name, type}) {
    if (holdsAny(text, {"HostToDevice", "host to device", "H2D"})) return CopyKind::kHostToDevice;
    if (holdsAny(text, {"DeviceToHost", "device to host", "D2H"})) return CopyKind::kDeviceToHost;
    if (holdsAny(text, {"DeviceToDevice", "device to device", "D2D"})) {
      return CopyKind::kDeviceToDevice;
    }
  }
  return CopyKind::kUnknown;
}

SyncKind ascendSyncKind(std::string_view type) {
  if (holdsAny(type, {"RECORD"})) return SyncKind::kEventRecord;
  if (holdsAny(type, {"WAIT"})) return SyncKind::kBarrier;
  return SyncKind::kMarker;
}

int64_t ascendDevice(std::string_view label) {
  constexpr std::string_view kPrefix = "NPU ";
  if (label.substr(0, kPrefix.size()) != kPrefix) return -1;
  int64_t number = -1;
  const char* const end = label.data() + label.size();
  const auto [behind, error] = std::from_chars(label.data() + kPrefix.size(), end, number);
  return error == std::errc() && behind == end ? number : -1;
}

TableId mcTracerTable(std::string_view name, std::string_view category, bool has_grid) {
  if (has_grid) return TableId::kKernel;
  if (category == "kernel" || category == "gpu_op") {
    if (holdsAny(name, {"Memcpy", "memcpy", "MemCpy"})) return TableId::kCopy;
    if (holdsAny(name, {"Memset", "memset", "MemSet"})) return TableId::kFill;
    return TableId::kKernel;
  }
  if (name.size() > 2 && name[0] == 'm' && name[1] == 'c' && name[2] >= 'A' && name[2] <= 'Z') {
    return TableId::kHostCall;  // mcMalloc, mcLaunchKernel
  }
  return TableId::kRange;
}

namespace {

bool isJson(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

bool recognisesAscend(const ImportInput& input) {
  return isJson(input.head) && holdsAny(input.head, {"\"Ascend Hardware\"", "\"Task Type\""});
}

Result<ImportCounts> runAscend(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  return importChromeJson(*source, writer, std::move(facts), ChromeDialect::kAscend);
}

/// Whether `word` occurs anywhere in the file; kernels may come late in it.
bool fileHolds(const ImportInput& input, std::string_view word) {
  auto source = input.bytes();
  if (!source) return false;
  std::vector<char> window(1u << 20);
  size_t kept = 0;
  for (;;) {
    const Result<size_t> n =
        (*source)->read({reinterpret_cast<uint8_t*>(window.data()) + kept, window.size() - kept});
    if (!n) return false;
    const std::string_view text(window.data(), kept + *n);
    if (text.find(word) != std::string_view::npos) return true;
    if (*n < window.size() - kept) return false;
    kept = word.size() - 1;
    std::copy(text.end() - static_cast<std::ptrdiff_t>(kept), text.end(), window.begin());
  }
}

/// Requires a MetaX runtime call among the first events, and a kernel in the form that only
/// mcTracer writes. A wrong guess must be avoided: the unit of times differs by a factor of 1000.
bool recognisesMcTracer(const ImportInput& input) {
  if (!isJson(input.head)) return false;
  bool any_call = holdsAny(input.head, {"mtreg_occupancy"});
  for (size_t at = input.head.find("\"mc"); !any_call && at != std::string::npos;
       at = input.head.find("\"mc", at + 1)) {
    any_call = at + 3 < input.head.size() && input.head[at + 3] >= 'A' && input.head[at + 3] <= 'Z';
  }
  return any_call && fileHolds(input, "\"mtreg_occupancy");
}

Result<ImportCounts> runMcTracer(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  return importChromeJson(*source, writer, std::move(facts), ChromeDialect::kMcTracer);
}

}  // namespace

constinit const Importer kAscendImporter = {
    "Ascend timeline (msprof, trace_view)",
    "no real timeline was available; tested with handwritten events that follow those in the "
    "tests of Ascend's own tools",
    recognisesAscend, runAscend};

constinit const Importer kMcTracerImporter = {
    "MetaX mcTracer",
    "no real trace was available; tested with handwritten events that follow what users report of "
    "theirs, nanoseconds included",
    recognisesMcTracer, runMcTracer};

}  // namespace tracesmith::import
