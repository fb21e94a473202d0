// SPDX-License-Identifier: Apache-2.0
// Runs a command under the agents and writes its trace: what `tracesmith profile` and `record` do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/collect/recording_drain.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

/// How the OpenCL agent enters the program.
enum class Injection : uint8_t {
  kAuto,     ///< a layer, and preloaded where the system's loader is none that knows OPENCL_LAYERS
  kLayer,    ///< OPENCL_LAYERS
  kPreload,  ///< LD_PRELOAD
};

/// Live figures for a progress line.
struct CaptureProgress {
  int64_t elapsed_ns = 0;
  uint64_t kernels = 0;
  uint64_t events = 0;  ///< rows written so far
  uint64_t dropped = 0;
  uint64_t file_bytes = 0;
  uint32_t processes = 0;
};

/// Recording what is needed for replay (`--record`).
struct RecordOptions {
  uint64_t ring_bytes = 64u << 20;  ///< per process; rounded up to a power of two
  std::string range;                ///< as agents read it (record_range.hpp); "": all
  bool keep_outputs = false;        ///< the bytes that the program reads, not their hashes alone
  bool launch_hashes = false;       ///< what a launch was given is hashed after it
};

/// Host call stacks of the program's calls (`--stacks`).
struct StackOptions {
  std::string frames = "both";  ///< "native", "python" or "both"
  static constexpr uint32_t kMostDepth = 512;
  uint32_t max_depth = 128;  ///< frames of a stack, 1 to kMostDepth
};

/// Calls of the program's own functions (`--xray`), where it was built with -fxray-instrument.
struct FunctionOptions {
  int64_t shortest_ns = 0;  ///< shorter calls make no rows
};

struct ProfileOptions {
  std::vector<std::string> command;  ///< argv of the program; found on PATH like a shell does
  std::string output = "trace.sbt";
  uint64_t ring_bytes = 4u << 20;  ///< per thread of the program; rounded up to a power of two
  OverflowPolicy overflow = OverflowPolicy::Block;
  Injection injection = Injection::kAuto;
  /// Whose agent enters the program: OpenCL's, CUDA's, or with Unknown both.
  PlatformType platform = PlatformType::Unknown;
  bool wait_for_descendants = true;  ///< go on until processes with an agent have ended, too
  double duration_s = 0;             ///< > 0: stop the program (SIGINT, then SIGTERM) after that
  bool kernels = true;               ///< false: leave kernel rows out
  bool memory = true;                ///< false: leave copies, fills and memory events out
  bool unified_memory = false;       ///< page faults and migrations of CUDA's managed memory
  bool cuda_calls = false;           ///< all calls of CUDA's runtime and driver
  bool cuda_latency = false;         ///< when CUDA's kernels were queued and submitted
  bool whole_cuda_graphs = false;    ///< one row a launch of a CUDA graph, none for its nodes
  std::optional<RecordOptions> record;
  std::optional<StackOptions> stacks;
  std::optional<FunctionOptions> functions;
  bool force = false;  ///< a trace without events replaces one with events
  std::function<void(const CaptureProgress&)> progress;  ///< called about 5 times a second
};

struct ProfileOutcome {
  std::string trace;  ///< where it is: ProfileOptions::output, or a name beside it
  int exit_code = 0;  ///< the program's, or 128 + signal
  int signal = 0;     ///< the signal that ended it, else 0
  bool stopped_by_duration = false;
  uint64_t kernels = 0;  ///< rows of the trace
  uint64_t copies = 0;
  uint64_t host_calls = 0;
  uint64_t function_calls = 0;  ///< of functions that XRay traced
  uint64_t annotations = 0;     ///< ranges and marks of NVTX
  uint64_t dropped = 0;
  uint64_t without_ring = 0;  ///< of those dropped: larger rings would not have helped
  uint64_t unresolved = 0;
  uint32_t processes = 0;
  uint32_t gpu_processes = 0;  ///< processes in which an agent ran
  uint32_t unobserved = 0;     ///< processes that may have used a GPU unseen
  uint64_t file_bytes = 0;
  std::vector<std::string> warnings;  ///< for stderr, one line each
  std::optional<RecordingTotals> recording;
  Status recording_status;  ///< failure to write the recording
  Status trace_status;      ///< failure to write the trace; the program ran all the same
};

/// Fails only when the program was not started: kNotFound (exit 127), kPermission (126), anything
/// else (125). While it runs, SIGINT and SIGTERM stop the program and leave a complete file.
Result<ProfileOutcome> runProfile(const ProfileOptions& options);

struct RecoverOutcome {
  std::string output;             ///< "" when the recording had not begun: there is no trace
  uint64_t recovered_events = 0;  ///< rows that were not yet in the file
  uint64_t kernels = 0;           ///< in the finished file
  uint32_t arenas = 0;
  uint32_t channels = 0;
  std::optional<RecordingTotals> recording;  ///< when there was one to be finished
  std::vector<std::string> warnings;
};

/// Finishes the trace of a session whose collector died: `session_dir` is the directory that
/// `profile` keeps beside its output. Its trace goes to the directory's own path without
/// ".session".
/// - A file there that is neither of this session nor what the session was to replace is an error.
/// - A session whose programs still run is an error: what they record after this would be lost.
///   With `force` it is finished all the same, and the loss is in the trace.
/// - The directory is removed when the finished trace (and recording) has been read back intact.
Result<RecoverOutcome> recoverSession(const std::string& session_dir, bool force = false);

}  // namespace tracesmith
