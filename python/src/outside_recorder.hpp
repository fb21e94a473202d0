// SPDX-License-Identifier: Apache-2.0
// Sends ranges and marks to a tool that records this process from outside, such as
// `tracesmith profile`. The tool names a library in NVTX_INJECTION64_PATH, which is called through
// NVTX's injection interface (capture_cuda.md). Any other NVTX recorder works as well. Needs no
// NVIDIA headers.
#pragma once

#include <cstdint>

#include "tracesmith/capture/agents/cuda/nvtx.hpp"

namespace tracesmith::python {

/// Thread-safe.
class OutsideRecorder {
 public:
  /// The recorder of this process; null: there is none. The first call loads the library.
  static const OutsideRecorder* find();

  /// Starts a range, which may end on any thread. Returns its number. `name` is copied.
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
