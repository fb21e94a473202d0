// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/cuda_id_scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/cuda_events.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/join/virtual_memory.hpp"
#include "tracesmith/model/names/cuda_names.hpp"

namespace tracesmith {
namespace {

constexpr int kMostCopies = 64;  // longest chain of graph copies

/// "" for zeros, which are no UUID.
std::string uuidText(const uint8_t (&uuid)[16]) {
  if (std::all_of(std::begin(uuid), std::end(uuid), [](uint8_t byte) { return byte == 0; })) {
    return "";
  }
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

}  // namespace

bool CudaLife::defineText(const arena::CudaTextRecord& head, std::string_view text) {
  StringTable& strings = shared_.delta.strings;
  switch (static_cast<arena::CudaText>(head.header.flags)) {
    case arena::CudaText::kKernel:
      kernel_names_[head.header.aux] = strings.intern(text);
      return true;
    case arena::CudaText::kFunction: {
      const std::string_view name = withoutCudaVersion(text);
      functions_[head.header.aux] = {
          strings.intern(name), static_cast<CallKind>(head.call_kind & 7),
          CudaEvents::recordsEvent(name), VirtualMemory::isFunction(name)};
      return true;
    }
    case arena::CudaText::kDevice:
      described_[head.header.aux].name = strings.intern(text);
      return true;
    default:
      return false;
  }
}

bool CudaLife::defineDevice(ByteView record) {
  arena::CudaDeviceRecord r;
  if (!takePart(record, r)) return false;
  DeviceRow& row = described_[r.header.aux];
  StringTable& strings = shared_.delta.strings;
  row.kind = DeviceKind::kGpu;
  row.vendor = strings.intern("NVIDIA");
  row.memory_bytes = r.memory_bytes;
  row.compute_units = r.multiprocessors;
  row.clock_mhz = r.clock_mhz;
  row.warp_size = r.warp_size;
  row.max_work_group_size = r.threads_per_block;
  row.compute_major = r.compute_major;
  row.compute_minor = r.compute_minor;
  row.max_threads_per_unit = r.threads_per_multiprocessor;
  row.registers_per_unit = r.registers_per_multiprocessor;
  row.shared_bytes_per_unit = r.shared_bytes_per_multiprocessor;
  // What CUPTI does not say, the driver may have said before.
  if (r.memory_clock_mhz != 0) row.memory_clock_mhz = r.memory_clock_mhz;
  if (r.memory_bus_bits != 0) row.memory_bus_bits = r.memory_bus_bits;
  if (r.pci != 0) {
    row.pci_address = strings.intern(
        fmt::format("{:04x}:{:02x}:{:02x}.0", r.pci >> 16, r.pci >> 8 & 0xff, r.pci >> 3 & 0x1f));
  }
  row.uuid = strings.intern(uuidText(r.uuid));
  return true;
}

bool CudaLife::defineContext(ByteView record) {
  arena::CudaContextRecord r;
  if (!takePart(record, r)) return false;
  context_devices_[r.header.aux] = static_cast<uint32_t>(r.device);
  return true;
}

void CudaLife::defineGraphNode(uint64_t node, uint64_t original, CallPathId path) {
  GraphNode& known = graph_nodes_[node];
  known.original = original;
  known.path = path;
}

CudaLife::Function CudaLife::function(uint32_t number) const {
  const auto found = functions_.find(number);
  return found == functions_.end() ? Function{} : found->second;
}

StringId CudaLife::kernelName(uint32_t number) const {
  const auto found = kernel_names_.find(number);
  return found == kernel_names_.end() ? StringId::kNone : found->second;
}

CallPathId CudaLife::graphNodePath(uint64_t node) const {
  for (int i = 0; i < kMostCopies; ++i) {
    const auto found = graph_nodes_.find(node);
    if (found == graph_nodes_.end()) break;
    if (found->second.path != CallPathId::kNone) return found->second.path;
    node = found->second.original;
  }
  return CallPathId::kNone;
}

DeviceId CudaLife::device(uint32_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  if (fresh) {
    DeviceRow row = described_[ordinal];
    StringTable& strings = shared_.delta.strings;
    row.backend = PlatformType::CUDA;
    row.platform = strings.intern("CUDA");
    row.ordinal = ordinal;
    if (row.name == StringId{}) row.name = strings.intern("CUDA device " + std::to_string(ordinal));
    it->second = shared_.device(row);
  }
  return it->second;
}

bool CudaLife::knowsDevice(uint32_t ordinal) const {
  const auto described = described_.find(ordinal);
  return devices_.contains(ordinal) ||
         (described != described_.end() && described->second.name != StringId::kNone &&
          described->second.vendor != StringId::kNone);
}

ContextId CudaLife::context(uint32_t number) {
  const auto [it, fresh] = contexts_.try_emplace(number);
  if (fresh) {
    it->second = static_cast<ContextId>(++shared_.contexts);
    shared_.delta.context.push({.id = it->second,
                                .process_id = process_,
                                .handle = handleOf(number),
                                .ordinal = static_cast<uint32_t>(contexts_.size() - 1),
                                .device_id = device(context_devices_[number])});
  }
  return it->second;
}

StreamId CudaLife::stream(uint32_t context_number, uint32_t number) {
  const auto [it, fresh] = streams_.try_emplace({context_number, number});
  if (fresh) {
    const ContextId in = context(context_number);
    it->second = static_cast<StreamId>(++shared_.streams);
    shared_.delta.stream.push({.id = it->second,
                               .process_id = process_,
                               .context_id = in,
                               .device_id = device(context_devices_[context_number]),
                               .handle = handleOf(number),
                               .ordinal = static_cast<uint32_t>(streams_.size() - 1)});
  }
  return it->second;
}

void CudaLife::restoreContext(const ContextRow& row) {
  contexts_[static_cast<uint32_t>(row.handle)] = row.id;
}

void CudaLife::restoreStream(const StreamRow& row, uint32_t context) {
  streams_[{context, static_cast<uint32_t>(row.handle)}] = row.id;
}

}  // namespace tracesmith
