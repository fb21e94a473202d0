// SPDX-License-Identifier: Apache-2.0
// Captures the work of several GPUs from inside a program, GPU by GPU. IPlatformProfiler captures
// the same without sorting it; `tracesmith profile` does so from outside, with all processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/capture/profiler.hpp"
#include "tracesmith/cluster/gpu_topology.hpp"

namespace tracesmith {

/// GPUs have the numbers of TraceEvent::device_id: those that the platform gives them.
struct MultiGPUConfig {
  PlatformType platform = PlatformType::Unknown;  ///< Unknown: detectPlatform()
  std::vector<uint32_t> gpu_ids;                  ///< empty: all
  size_t per_gpu_buffer_size = 1'000'000;         ///< most events of a GPU that wait; at least 1
  bool enable_nvlink_tracking = true;
  bool enable_peer_access_tracking = true;
  bool capture_topology = true;  ///< initialize() looks at the machine
  /// Of the buffers. With Block the delivery of events waits a moment; the program does not.
  OverflowPolicy overflow_policy = OverflowPolicy::DropOldest;
};

/// A copy between two GPUs that are connected by links of their own: NVLink, Infinity Fabric, or
/// MetaX. Known with capture_topology alone.
struct NVLinkTransfer {
  uint32_t src_gpu = 0;
  uint32_t dst_gpu = 0;
  uint64_t bytes = 0;
  Timestamp timestamp = 0;
  uint64_t duration_ns = 0;
  uint32_t link_id = 0;  ///< place of their connection in getTopology().links
};

/// A GPU's access to the memory of another, by a copy. Loads and stores of kernels leave no record.
struct PeerAccess {
  uint32_t src_gpu = 0;  ///< the GPU that executed the copy
  uint32_t dst_gpu = 0;  ///< the GPU whose memory it read or wrote
  uint64_t address = 0;  ///< there; 0: unknown, as always for CUDA
  uint64_t bytes = 0;
  bool is_write = false;
  Timestamp timestamp = 0;
};

struct MultiGPUStats {
  uint64_t total_events = 0;   ///< captured and not dropped
  uint64_t total_dropped = 0;  ///< includes events that were lost before their GPU was known
  uint64_t nvlink_transfers = 0;
  uint64_t nvlink_bytes = 0;
  uint64_t peer_accesses = 0;
  std::map<uint32_t, uint64_t> events_per_gpu;
  std::map<uint32_t, uint64_t> dropped_per_gpu;
  double capture_duration_ms = 0;  ///< of all captures together
};

/// Methods may be called from any thread, with the exceptions that IPlatformProfiler has. Numbers
/// and lists are those since initialize(). A forked child may only destroy its copy.
class MultiGPUProfiler {
 public:
  using EventCallback = IPlatformProfiler::EventCallback;
  using NVLinkCallback = std::function<void(const NVLinkTransfer&)>;

  explicit MultiGPUProfiler(MultiGPUConfig config = {});
  ~MultiGPUProfiler();
  MultiGPUProfiler(MultiGPUProfiler&&) noexcept;
  MultiGPUProfiler& operator=(MultiGPUProfiler&&) noexcept;

  /// False: lastError() gives the reason, such as a GPU of gpu_ids that does not exist.
  bool initialize();
  /// Stops the capture and discards what has not been taken.
  void finalize();
  bool isInitialized() const;

  /// Adds a GPU to those whose events are kept, also during a capture.
  bool addGPU(uint32_t gpu_id);
  /// Ignores the GPU from now on. Events of it that wait can still be taken.
  bool removeGPU(uint32_t gpu_id);
  std::vector<uint32_t> getActiveGPUs() const;
  /// GPUs of the platform, active or not.
  uint32_t getAvailableGPUCount() const;

  bool startCapture();
  bool stopCapture();
  bool isCapturing() const;

  /// Moves up to `max` events (0: all that are there now) of all GPUs to the end of `events`, in
  /// the order of their starts. Returns their number. With `max` it takes those that wait longest.
  size_t getEvents(std::vector<TraceEvent>& events, size_t max = 0);
  size_t getEventsFromGPU(uint32_t gpu_id, std::vector<TraceEvent>& events, size_t max = 0);
  /// The newest per_gpu_buffer_size of each list.
  std::vector<NVLinkTransfer> getNVLinkTransfers() const;
  std::vector<PeerAccess> getPeerAccesses() const;

  uint64_t totalEventsCaptured() const;
  uint64_t eventsFromGPU(uint32_t gpu_id) const;
  MultiGPUStats getStatistics() const;

  /// Of the active GPUs.
  std::vector<DeviceInfo> getAllDeviceInfo() const;
  std::optional<DeviceInfo> getDeviceInfo(uint32_t gpu_id) const;
  /// Without GPUs if capture_topology is off, or initialize() found none. Its GPUs are numbered in
  /// an order of its own: see topologyGPU().
  GPUTopologyInfo getTopology() const;
  /// The number of a GPU in getTopology(), found by its PCI address.
  std::optional<uint32_t> topologyGPU(uint32_t gpu_id) const;

  /// Sets functions that are called for each new event and transfer, on a thread of the profiler.
  /// They must not call the profiler. Set them while capture is stopped.
  void setEventCallback(EventCallback callback);
  void setNVLinkCallback(NVLinkCallback callback);

  /// Why the last failing call returned false; "" when none has.
  std::string lastError() const;
  ErrorCode lastErrorCode() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tracesmith
