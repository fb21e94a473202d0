// SPDX-License-Identifier: Apache-2.0
// Runs a command with the agents and writes its trace, for `tracesmith profile` and `record`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/collect/recording_drain.hpp"
#include "tracesmith/capture/flight/flight_options.hpp"
#include "tracesmith/capture/system/system_options.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

/// How the OpenCL agent enters the program.
enum class Injection : uint8_t {
  kAuto,     ///< layer; also LD_PRELOAD if the system's loader ignores OPENCL_LAYERS
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

/// Recording for replay (`--record`).
struct RecordOptions {
  uint64_t ring_bytes = 64u << 20;  ///< per process; rounded up to a power of two
  std::string range;                ///< in the agents' syntax (record_range.hpp); "": all
  bool keep_outputs = false;        ///< keep the bytes that the program reads, not only hashes
  bool launch_hashes = false;       ///< hash a launch's buffers after it
};

/// Host call stacks of the program's calls (`--stacks`).
struct StackOptions {
  std::string frames = "both";  ///< "native", "python" or "both"
  static constexpr uint32_t kMostDepth = 512;
  uint32_t max_depth = 128;  ///< frames per stack, 1 to kMostDepth
};

/// Calls of the program's own functions (`--xray`), where it was built with -fxray-instrument.
struct FunctionOptions {
  int64_t shortest_ns = 0;  ///< shorter calls make no rows
};

/// What NCCL is asked to report.
enum class NcclEvents : uint8_t {
  kNone = 0,
  kLight = 1,    ///< calls, and when they were enqueued
  kDefault = 2,  ///< also when each ran on the device
  kFull = 3,     ///< also what NCCL's threads send and receive, and what they wait for
};

struct ProfileOptions {
  std::vector<std::string> command;  ///< argv of the program; found on PATH as a shell does
  std::string output = "trace.sbt";
  uint64_t ring_bytes = 4u << 20;  ///< per thread of the program; rounded up to a power of two
  OverflowPolicy overflow = OverflowPolicy::Block;
  Injection injection = Injection::kAuto;
  /// Whose agent enters the program: OpenCL's or CUDA's; Unknown: both.
  PlatformType platform = PlatformType::Unknown;
  bool wait_for_descendants = true;  ///< continue until all processes with an agent have ended
  double duration_s = 0;           ///< > 0: stop the program after this time (SIGINT, then SIGTERM)
  bool kernels = true;             ///< false: write no kernel rows
  bool memory = true;              ///< false: write no copies, fills and memory events
  bool unified_memory = false;     ///< page faults and migrations of CUDA's managed memory
  bool cuda_calls = false;         ///< all calls of CUDA's runtime and driver APIs
  bool cuda_latency = false;       ///< queue and submit times of CUDA kernels
  bool whole_cuda_graphs = false;  ///< one row per launch of a CUDA graph instead of one per node
  bool per_host = false;           ///< one recording of all ranks on this host (host_ranks.hpp)
  bool mpi = false;  ///< calls of MPI, also if the command does not show that it uses it
  NcclEvents nccl = NcclEvents::kDefault;
  std::optional<RecordOptions> record;
  std::optional<StackOptions> stacks;
  std::optional<FunctionOptions> functions;
  std::optional<SystemOptions> system;  ///< samples and states of threads (`--system`)
  std::optional<FlightOptions> flight;  ///< keep only the last seconds (`--flight-recorder`)
  std::vector<std::string> sync_with;   ///< hosts to compare the clock with (clock_probe.hpp)
  bool force = false;                   ///< a trace without events may replace one with events
  std::function<void(const CaptureProgress&)> progress;  ///< called about 5 times a second
};

struct ProfileOutcome {
  std::string trace;  ///< path: ProfileOptions::output, or a name beside it
  int exit_code = 0;  ///< the program's, or 128 + signal
  int signal = 0;     ///< the signal that ended the program, else 0
  bool stopped_by_duration = false;
  uint64_t kernels = 0;  ///< rows in the trace
  uint64_t copies = 0;
  uint64_t host_calls = 0;
  uint64_t function_calls = 0;  ///< calls of functions that XRay traces
  uint64_t annotations = 0;     ///< NVTX ranges and marks
  uint64_t cpu_samples = 0;
  uint64_t dropped = 0;
  uint64_t without_ring = 0;  ///< part of `dropped` that larger rings would not have avoided
  uint64_t unresolved = 0;
  uint32_t processes = 0;
  uint32_t gpu_processes = 0;  ///< processes in which an agent ran
  uint32_t unobserved = 0;     ///< processes that may have used a GPU unseen
  uint64_t file_bytes = 0;
  std::vector<std::string> warnings;       ///< for stderr, one line each
  std::vector<SavedWindow> saved_windows;  ///< of a flight recorder, before the end
  uint64_t unsaved_windows = 0;            ///< reasons that came after FlightOptions::most_saved
  std::optional<RecordingTotals> recording;
  Status recording_status;  ///< failure to write the recording
  Status trace_status;      ///< failure to write the trace; the program ran nevertheless
};

/// Fails only when the program was not started: kNotFound (exit 127), kPermission (126), anything
/// else (125). While the program runs, SIGINT and SIGTERM stop it; the file is complete
/// nevertheless.
Result<ProfileOutcome> runProfile(const ProfileOptions& options);

struct RecoverOutcome {
  std::string output;             ///< "" when the recording had not started: there is no trace
  uint64_t recovered_events = 0;  ///< rows that were not yet in the file
  uint64_t kernels = 0;           ///< in the finished file
  uint32_t arenas = 0;
  uint32_t channels = 0;
  std::optional<RecordingTotals> recording;  ///< if there was one to finish
  std::vector<std::string> warnings;
};

/// Finishes the trace of a session whose collector died. `session_dir` is the directory that
/// `profile` keeps beside its output; the trace gets the directory's own path without ".session".
/// - An existing file there is an error unless it belongs to this session, or is the file that the
///   session was to replace.
/// - A session whose programs still run is an error, because their later events would be lost.
///   `force` finishes it nevertheless, and the loss is in the trace.
/// - The directory is removed once the finished trace (and recording) has been read back intact.
Result<RecoverOutcome> recoverSession(const std::string& session_dir, bool force = false);

}  // namespace tracesmith
