// SPDX-License-Identifier: Apache-2.0
// Captures this very process: the same agent, arenas and collector as `tracesmith profile`, with
// the collector on a thread of ours.
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
  uint32_t stack_depth = 0;  // frames of the host call stack of each call; 0: no stacks
};

/// One at a time in a process. All methods may be called from any thread.
class InProcessCapture {
 public:
  /// Arms the agent for this process and its children by environment variables. For OpenCL it must
  /// run before the process's first call (the ICD loader reads them once); a CUDA driver that is in
  /// use already is not waited for: the agent enters at once. Capture begins switched off. Errors:
  /// no agent library, an ICD loader without layers, another library in CUDA's variable, no room,
  /// already armed or recorded from outside. Not to be destroyed in a forked child: its thread is
  /// the parent's.
  static Result<std::unique_ptr<InProcessCapture>> arm(const InProcessOptions& options);
  ~InProcessCapture();
  InProcessCapture(const InProcessCapture&) = delete;
  InProcessCapture& operator=(const InProcessCapture&) = delete;

  void setCapturing(bool on);
  /// Of CUDA: whether CUPTI tells this process's agent anything, which costs the program what
  /// CUPTI costs; before setCapturing(true), and when what was captured has come. Work that has not
  /// ended by then has no times. An agent that is loaded while capture is switched on begins so.
  void setActive(bool active);
  /// True once the agent has been loaded, that is, after the first call of the platform.
  bool agentLoaded() const;
  /// Why the agent captures nothing; "" while all is well, or the agent has not been loaded.
  std::string problem();

  /// Everything that has been captured since arm(), in host time.
  Result<Trace> snapshot();
  /// The events that have been captured since the last call (dictionaries as in snapshot()). Costs
  /// what the new ones cost.
  Result<Trace> takeNew();
  CollectorTotals totals() const;

 private:
  InProcessCapture() = default;
  /// `directory`: of the capture once it has been made, also when this fails after that.
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
  std::string agent_;      // its library
  std::string directory_;  // of the session and of the trace
  std::unique_ptr<Collector> collector_;
  mutable std::mutex mutex_;  // of collector_
  std::condition_variable wake_;
  bool stop_ = false;
  bool capturing_ = false;
  bool must_be_loaded_ = false;             // the agent has been called
  std::unique_ptr<Symbolizer> symbolizer_;  // where stacks are taken
  std::vector<NamedFrame> named_;           // so far
  std::thread thread_;
  std::optional<TraceReader> reader_;  // of takeNew(), under mutex_
  uint64_t taken_until_ = 0;           // byte of the file
};

}  // namespace tracesmith
