// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/virtual_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith {
namespace {

using arena::VirtualMemoryCall;

// A program usually maps memory soon after creating it. One commit may come in between, but hardly
// two.
constexpr uint32_t kCommitsUntilWritten = 2;

/// End of the range; clamped to the address space for a damaged record.
uint64_t endOf(uint64_t address, uint64_t bytes) {
  return address + bytes < address ? UINT64_MAX : address + bytes;
}

/// Stands for a call that was not recorded.
VirtualMemory::Operation unknownCall(const VirtualMemory::Operation& at) {
  return {.stamp = at.stamp, .time_ns = at.time_ns};
}

}  // namespace

bool VirtualMemory::isFunction(std::string_view name) {
  constexpr std::string_view kFunctions[] = {
      "cuMemCreate",         "cuMemRelease",     "cuMemMap",
      "cuMemUnmap",          "cuMemSetAccess",   "cuMemRetainAllocationHandle",
      "cuMemAddressReserve", "cuMemAddressFree", "cuMemImportFromShareableHandle",
      "cuMulticastCreate"};
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
}

void VirtualMemory::add(const Operation& operation) { held_.push_back(operation); }

std::vector<VirtualMemory::Event> VirtualMemory::endPass() {
  if (held_.empty()) return {};
  const auto earlier = [](const Operation& a, const Operation& b) { return a.stamp < b.stamp; };
  std::stable_sort(held_.begin(), held_.end(), earlier);
  size_t ready = 0;
  while (ready < held_.size() && held_[ready].stamp <= horizon_) apply(held_[ready++]);
  horizon_ = std::max(horizon_, held_.back().stamp);
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(ready));
  return std::exchange(events_, {});
}

std::vector<VirtualMemory::Event> VirtualMemory::finish() {
  horizon_ = INT64_MAX;
  std::vector<Event> events = endPass();
  while (!without_row_.empty())
    writeRow(lifeOf(memories_.at(*without_row_.begin()).created), *without_row_.begin(), 0);
  events.insert(events.end(), events_.begin(), events_.end());
  events_.clear();
  return events;
}

std::vector<VirtualMemory::Event> VirtualMemory::endCommit() {
  for (auto it = without_row_.begin(); it != without_row_.end();) {
    const uint64_t number = *it++;
    Memory& memory = memories_.at(number);
    if (++memory.commits >= kCommitsUntilWritten) writeRow(lifeOf(memory.created), number, 0);
  }
  return std::exchange(events_, {});
}

void VirtualMemory::restoreEvent(const MemoryEventRow& row) {
  if (row.kind == MemoryKind::kAlloc) {
    restored_allocations_[row.correlation_id] = row.address;
  } else {
    restored_releases_.emplace(row.correlation_id, row.address);
  }
}

VirtualMemory::Life& VirtualMemory::lifeOf(const Operation& op) {
  return lives_[static_cast<uint32_t>(op.correlation / cuda_file::kIdsOfLife)];
}

void VirtualMemory::apply(const Operation& op) {
  Life& life = lifeOf(op);
  switch (op.call) {
    case VirtualMemoryCall::kCreate:
      return create(life, op, false);
    case VirtualMemoryCall::kImport: {
      // A process may import memory for which it already has a handle.
      const auto known = life.handles.find(op.handle);
      if (known != life.handles.end()) return reference(life, op, known->second.memory);
      return create(life, op, true);
    }
    case VirtualMemoryCall::kRelease:
      return release(life, op);
    case VirtualMemoryCall::kMap:
      return map(life, op);
    case VirtualMemoryCall::kUnmap:
      return unmap(life, op);
    case VirtualMemoryCall::kRetain:
      return retain(life, op);
    case VirtualMemoryCall::kNone:
      return;
  }
}

void VirtualMemory::create(Life& life, const Operation& op, bool is_foreign) {
  const uint64_t number = ++last_number_;
  memories_[number] = {.created = op, .is_foreign = is_foreign};
  reference(life, op, number);
  if (is_foreign) return;
  if (without_row_.empty()) life.freed.clear();
  without_row_.insert(number);
}

/// Adds a reference to the memory, through the operation's handle.
void VirtualMemory::reference(Life& life, const Operation& op, uint64_t number) {
  Handle& handle = life.handles[op.handle];
  const Handle before = handle;
  const bool is_other = before.references != 0 && before.memory != number;
  handle = {number, is_other ? 1 : before.references + 1};
  ++memories_.at(number).references;
  if (!is_other) return;
  // The driver reused the handle, so the release of the other memory was missed.
  ++unmatched_;
  memories_.at(before.memory).references -= before.references;
  freeUnused(life, before.memory, unknownCall(op));
}

/// The memory with this handle. Memory that was created before the capture is added here, so that
/// it is counted once as unmatched; it has no rows.
uint64_t VirtualMemory::memoryOf(Life& life, const Operation& op) {
  const auto known = life.handles.find(op.handle);
  if (known != life.handles.end()) return known->second.memory;
  ++unmatched_;
  create(life, op, true);
  return last_number_;
}

void VirtualMemory::release(Life& life, const Operation& op) {
  const uint64_t number = memoryOf(life, op);
  const auto handle = life.handles.find(op.handle);
  if (--handle->second.references == 0) life.handles.erase(handle);
  --memories_.at(number).references;
  freeUnused(life, number, op);
}

void VirtualMemory::map(Life& life, const Operation& op) {
  if (op.bytes == 0) return;  // the driver rejects it
  const uint64_t number = memoryOf(life, op);
  Memory& memory = memories_.at(number);
  ++memory.mappings;
  // Unmap what is still mapped there: its unmapping was missed.
  auto other = life.mappings.upper_bound(op.address);
  if (other != life.mappings.begin()) {
    const auto before = std::prev(other);
    if (endOf(before->first, before->second.bytes) > op.address) other = before;
  }
  while (other != life.mappings.end() && other->first < endOf(op.address, op.bytes)) {
    ++unmatched_;
    dropMapping(life, other++, unknownCall(op));
  }
  life.mappings[op.address] = {op.bytes, number};
  writeRow(life, number, op.address);
}

void VirtualMemory::unmap(Life& life, const Operation& op) {
  auto at = life.mappings.lower_bound(op.address);
  const uint64_t end = endOf(op.address, op.bytes);
  if (at == life.mappings.end() || at->first >= end) ++unmatched_;
  while (at != life.mappings.end() && at->first < end) dropMapping(life, at++, op);
}

/// Takes a handle of the memory mapped at an address; its earlier handle may have been released.
void VirtualMemory::retain(Life& life, const Operation& op) {
  const auto after = life.mappings.upper_bound(op.address);
  if (after != life.mappings.begin()) {
    const auto& [address, mapping] = *std::prev(after);
    if (op.address < endOf(address, mapping.bytes)) return reference(life, op, mapping.memory);
  }
  const auto known = life.handles.find(op.handle);
  if (known != life.handles.end()) return reference(life, op, known->second.memory);
  ++unmatched_;
  create(life, op, true);
}

void VirtualMemory::dropMapping(Life& life, std::map<uint64_t, Mapping>::iterator at,
                                const Operation& by) {
  const uint64_t number = at->second.memory;
  life.mappings.erase(at);
  --memories_.at(number).mappings;
  freeUnused(life, number, by);
}

void VirtualMemory::freeUnused(Life& life, uint64_t number, const Operation& by) {
  const auto found = memories_.find(number);
  Memory& memory = found->second;
  if (memory.references != 0 || memory.mappings != 0) return;
  if (!memory.is_foreign) {
    writeRow(life, number, 0);
    life.addresses_in_rows.erase(memory.address);
    if (!without_row_.empty()) life.freed[memory.address] = by.stamp;
    const auto restored = restored_releases_.find({by.correlation, memory.address});
    if (restored != restored_releases_.end()) {
      restored_releases_.erase(restored);
    } else {
      events_.push_back({.kind = MemoryKind::kFree,
                         .time_ns = by.time_ns,
                         .address = memory.address,
                         .bytes = memory.created.bytes,
                         .device = memory.created.device,
                         .created_by = memory.created.correlation,
                         .correlation = by.correlation,
                         .thread = by.thread,
                         .path = by.path});
    }
  }
  memories_.erase(found);
}

/// Whether no other allocation has had this address since then.
bool VirtualMemory::isFree(const Life& life, uint64_t address, int64_t since) {
  const auto freed = life.freed.find(address);
  return !life.addresses_in_rows.contains(address) &&
         (freed == life.freed.end() || freed->second <= since);
}

/// Makes the missing row of an allocation; `address` 0: it is not mapped.
void VirtualMemory::writeRow(Life& life, uint64_t number, uint64_t address) {
  if (without_row_.erase(number) == 0) return;
  Memory& memory = memories_.at(number);
  const Operation& made = memory.created;
  const auto restored = restored_allocations_.find(made.correlation);
  if (restored != restored_allocations_.end()) {
    memory.address = restored->second;
    life.addresses_in_rows.insert(memory.address);
    restored_allocations_.erase(restored);
    return;
  }
  if (address == 0 || !isFree(life, address, made.stamp)) {
    address = kHandleBit | (made.handle & (kHandleBit - 1));
  }
  while (!isFree(life, address, made.stamp)) ++address;
  life.addresses_in_rows.insert(address);
  memory.address = address;
  events_.push_back({.kind = MemoryKind::kAlloc,
                     .time_ns = made.time_ns,
                     .address = address,
                     .bytes = made.bytes,
                     .device = made.device,
                     .created_by = made.correlation,
                     .correlation = made.correlation,
                     .thread = made.thread,
                     .path = made.path});
}

}  // namespace tracesmith
