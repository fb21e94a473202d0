// SPDX-License-Identifier: Apache-2.0
// Captures the calling process: the same agent, arenas and collector as `tracesmith profile`, with
// the collector on a thread of this process.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/kinds.hpp"
#include "tracesmith/stacks/symbols/symbolizer.hpp"

namespace tracesmith {

struct InProcessOptions {
  PlatformType platform = PlatformType::OpenCL;  // or CUDA
  uint64_t ring_bytes = 4u << 20;
  OverflowPolicy overflow = OverflowPolicy::Block;
  bool keep_kernels = true;
  bool keep_memory = true;
  uint32_t stack_depth = 0;  // frames of each call's host call stack; 0: no stacks
};

/// One at a time in a process. All methods may be called from any thread.
class InProcessCapture {
 public:
  /// Arms the agent for this process and its children by environment variables; capture starts
  /// disabled. For OpenCL it must run before the process's first call, because the ICD loader reads
  /// the variables once. If the CUDA driver is in use already, the agent enters at once. Errors: no
  /// agent library, an ICD loader without layers, another library in CUDA's variable, no space,
  /// already armed or recorded from outside. Must not be destroyed in a forked child: its thread
  /// belongs to the parent.
  static Result<std::unique_ptr<InProcessCapture>> arm(const InProcessOptions& options);
  ~InProcessCapture();
  InProcessCapture(const InProcessCapture&) = delete;
  InProcessCapture& operator=(const InProcessCapture&) = delete;

  void setCapturing(bool on);
  /// CUDA only: enables or disables CUPTI in this process's agent, which costs the program what
  /// CUPTI costs. Enable it before setCapturing(true), and disable it once the captured work has
  /// arrived; work that has not ended by then has no times. An agent that is loaded while capture
  /// is enabled starts enabled.
  void setActive(bool active);
  /// True once the agent has been loaded, that is, after the first call of the platform.
  bool agentLoaded() const;
  /// Why the agent captures nothing; "" when there is no problem, or when the agent is not loaded
  /// yet.
  std::string problem();

  /// Everything captured since arm(), in host time.
  Result<Trace> snapshot();
  /// The events captured since the last call (dictionaries as in snapshot()). The cost grows with
  /// the new events only.
  Result<Trace> takeNew();
  CollectorTotals totals() const;

 private:
  InProcessCapture() = default;
  /// Sets `directory` to the capture's directory once that exists, even when a later step fails.
  static Result<std::unique_ptr<InProcessCapture>> armOnce(const InProcessOptions& options,
                                                           std::string& directory);
  Status enterNow(const std::string& agent);
  void run();
  void nameFrames(Trace& trace);

  struct NamedFrame {
    SymbolRow row;
    std::string function;
    std::string file;
  };

  PlatformType platform_ = PlatformType::Unknown;
  std::string agent_;      // its library's path
  std::string directory_;  // of the session and of the trace
  std::unique_ptr<Collector> collector_;
  mutable std::mutex mutex_;  // protects collector_
  std::condition_variable wake_;
  bool stop_ = false;
  bool capturing_ = false;
  bool must_be_loaded_ = false;             // the agent has been called, so it must be loaded
  std::unique_ptr<Symbolizer> symbolizer_;  // when stacks are taken
  std::vector<NamedFrame> named_;           // so far
  std::thread thread_;
  std::optional<TraceReader> reader_;  // for takeNew(), under mutex_
  uint64_t taken_until_ = 0;           // byte offset in the file
};

}  // namespace tracesmith
