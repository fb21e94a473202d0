// SPDX-License-Identifier: Apache-2.0
// Whoever records this process from outside, as `tracesmith profile` does: it names a library in
// NVTX_INJECTION64_PATH, which is told of ranges and marks in NVTX's way (capture_cuda.md). Without
// NVIDIA's headers; any other recorder of NVTX's works as well.
#pragma once

#include <cstdint>

#include "tracesmith/capture/agents/cuda/nvtx.hpp"

namespace tracesmith::python {

/// Any thread.
class OutsideRecorder {
 public:
  /// Of this process; loads what the variable names, the first time. Null: nobody records.
  static const OutsideRecorder* find();

  /// A range that may end on any thread: its number. `name` is copied.
  uint64_t begin(const char* name) const {
    const agent::nvtx::EventAttributes attributes = of(name);
    return start_(domain_, &attributes);
  }
  void end(uint64_t range) const { end_(domain_, range); }
  void mark(const char* name) const {
    const agent::nvtx::EventAttributes attributes = of(name);
    mark_(domain_, &attributes);
  }

 private:
  OutsideRecorder() = default;
  bool load(const char* path);
  static agent::nvtx::EventAttributes of(const char* name) {
    agent::nvtx::EventAttributes attributes{};
    attributes.version = 3;
    attributes.size = sizeof attributes;
    attributes.message_type = agent::nvtx::kAscii;
    attributes.message.ascii = name;
    return attributes;
  }

  using Attributes = const agent::nvtx::EventAttributes*;
  const agent::nvtx::Domain* domain_ = nullptr;
  uint64_t (*start_)(const agent::nvtx::Domain*, Attributes) = nullptr;
  void (*end_)(const agent::nvtx::Domain*, uint64_t) = nullptr;
  void (*mark_)(const agent::nvtx::Domain*, Attributes) = nullptr;
};

}  // namespace tracesmith::python
