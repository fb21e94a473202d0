// SPDX-License-Identifier: Apache-2.0
// What the comparison consumer counts of CUPTI's records, for EMPTY_CONSUMER_COUNT. Only there are
// records read, and only there is freed what CUPTI hands over by pointer.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/cuda/cupti_v2.hpp"

namespace consumer {

namespace cupti = tracesmith::agent::cupti;

constexpr cupti::Kind kGraphTrace = static_cast<cupti::Kind>(51);

struct Counts {
  std::atomic<unsigned long> kernels{0}, copies{0}, fills{0}, graphs{0}, dropped{0}, buffers{0},
      memory_allocations{0}, memory_allocated_bytes{0}, memory_frees{0}, memory_freed_bytes{0};
};
inline Counts g_counts;

/// Where a record has a field: that of cupti.hpp, or, with selected fields, where CUPTI says so.
class Fields {
 public:
  explicit Fields(const cupti::BufferDoneInfo* info) : info_(info) {}

  template <class Value>
  Value read(const cupti::Activity& record, int number, size_t offset) const {
    Value value{};
    if (info_ != nullptr) {
      const cupti::FieldLayout* const field = find(record.kind, number);
      if (field == nullptr) return value;
      offset = field->offset;
    }
    memcpy(&value, reinterpret_cast<const uint8_t*>(&record) + offset, sizeof value);
    return value;
  }
  bool selected() const { return info_ != nullptr; }

 private:
  const cupti::FieldLayout* find(int kind, int number) const {
    if (info_->layouts == nullptr || static_cast<size_t>(kind) >= info_->count) return nullptr;
    const cupti::RecordLayout* const layout = info_->layouts[kind];
    for (size_t i = 0; layout != nullptr && i < layout->count; ++i) {
      // Later versions may append to what is told of a field.
      const auto* const at = reinterpret_cast<const uint8_t*>(layout->fields);
      const auto* const field =
          reinterpret_cast<const cupti::FieldLayout*>(at + i * layout->fields->size);
      if (field->field == number) return field;
    }
    return nullptr;
  }

  const cupti::BufferDoneInfo* info_;
};

/// CUPTI's header: "Client is responsible for freeing this memory". Names of devices from CUDA 13.0
/// on, details of overhead (CUpti_ActivityOverhead3) from CUDA 12.4 on, API version 22. Of selected
/// fields it asks that only of those details, which are not selected.
inline void freeWhatIsOurs(const cupti::Activity& record, const Fields& fields, uint32_t version) {
  constexpr uint32_t kFirstOwnedName = 130000;
  constexpr uint32_t kFirstOverheadData = 22;
  constexpr size_t kOverheadData = 48;
  if (fields.selected()) return;
  if (record.kind == cupti::kDevice && version >= kFirstOwnedName) {
    free(fields.read<void*>(record, 29, offsetof(cupti::Device, name)));
  }
  if (record.kind == cupti::kOverhead && version >= kFirstOverheadData) {
    free(fields.read<void*>(record, -1, kOverheadData));
  }
}

inline void count(const cupti::Activity& record, const Fields& fields) {
  switch (record.kind) {
    case cupti::kConcurrentKernel:
      ++g_counts.kernels;
      break;
    case cupti::kMemcpy:
    case cupti::kMemcpyPeer:
      ++g_counts.copies;
      break;
    case cupti::kMemset:
      ++g_counts.fills;
      break;
    case kGraphTrace:
      ++g_counts.graphs;
      break;
    case cupti::kMemory: {
      const auto bytes = fields.read<uint64_t>(record, 5, offsetof(cupti::Memory, bytes));
      const auto operation = fields.read<int32_t>(record, 1, offsetof(cupti::Memory, operation));
      if (operation == 1) ++g_counts.memory_allocations, g_counts.memory_allocated_bytes += bytes;
      if (operation == 2) ++g_counts.memory_frees, g_counts.memory_freed_bytes += bytes;
      break;
    }
    default:
      break;
  }
}

}  // namespace consumer
