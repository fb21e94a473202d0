// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/multi_gpu_profiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/capture/in_process/event_buffer.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith {
namespace {

/// A device number in the metadata of an event.
std::optional<uint32_t> deviceIn(const TraceEvent& event, const char* key) {
  const auto found = event.metadata.find(key);
  if (found == event.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

/// The numbers of the platform's devices in a topology, by their PCI addresses.
std::map<uint32_t, uint32_t> topologyNumbers(PlatformType platform, const GPUTopologyInfo& info) {
  std::map<uint32_t, uint32_t> numbers;
  const BackendReport& report = backendReport(platform);
  for (const DeviceRow& device : report.devices) {
    const auto address = topology::pciAddress(report.strings.at(device.pci_address));
    for (const GPUDeviceTopology& gpu : info.devices) {
      if (address && topology::pciAddress(gpu.pci_bus_id) == address) {
        numbers[device.ordinal] = gpu.gpu_id;
      }
    }
  }
  return numbers;
}

template <class T>
void addTo(std::deque<T>& list, T value, size_t most) {
  if (list.size() >= most) list.pop_front();
  list.push_back(std::move(value));
}

}  // namespace

struct MultiGPUProfiler::State {
  struct GPU {
    DeviceInfo info;
    std::shared_ptr<EventBuffer> events;
    bool is_active = false;
  };

  MultiGPUConfig config;
  PlatformType platform = PlatformType::Unknown;
  std::unique_ptr<IPlatformProfiler> profiler;  // null: not initialized
  EventCallback on_event;
  NVLinkCallback on_transfer;
  GPUTopologyInfo topology;
  std::map<uint32_t, uint32_t> topology_numbers;

  mutable std::mutex mutex;  // protects what follows
  std::map<uint32_t, GPU> gpus;
  std::deque<NVLinkTransfer> transfers;
  std::deque<PeerAccess> accesses;
  uint64_t seen = 0;  // events that the profiler has passed on
  uint64_t lost = 0;  // events that it could not pass on, as far as known
  pid_t owner = 0;
  MultiGPUStats counts;
  int64_t captured_ns = 0;
  int64_t started_ns = 0;  // of the current capture; 0: none
  Error error{ErrorCode::kUnsupported, {}, {}};

  bool failWith(std::string message, ErrorCode code = ErrorCode::kInvalidArgument) {
    const std::lock_guard lock(mutex);
    error = {code, std::move(message), {}};
    return false;
  }
  bool failAsProfiler() { return failWith(profiler->lastError(), profiler->lastErrorCode()); }

  bool setActive(uint32_t gpu_id, bool active);
  void take(const TraceEvent& event);
  void notePeers(const TraceEvent& event);
  std::optional<uint32_t> linkBetween(uint32_t gpu_a, uint32_t gpu_b) const;
  std::optional<uint32_t> topologyNumber(uint32_t gpu_id) const;
};

bool MultiGPUProfiler::State::setActive(uint32_t gpu_id, bool active) {
  if (!profiler) return failWith("not initialized");
  {
    const std::lock_guard lock(mutex);
    const auto found = gpus.find(gpu_id);
    if (found != gpus.end()) {
      found->second.is_active = active;
      return true;
    }
  }
  return failWith(fmt::format("there is no {} device {}; this machine has {}",
                              platformTypeToString(platform), gpu_id, gpus.size()));
}

std::optional<uint32_t> MultiGPUProfiler::State::topologyNumber(uint32_t gpu_id) const {
  const auto found = topology_numbers.find(gpu_id);
  if (found == topology_numbers.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> MultiGPUProfiler::State::linkBetween(uint32_t gpu_a, uint32_t gpu_b) const {
  const auto a = topologyNumber(gpu_a), b = topologyNumber(gpu_b);
  if (!a || !b) return std::nullopt;
  for (uint32_t i = 0; i < topology.links.size(); ++i) {
    const GPULink& link = topology.links[i];
    const bool is_theirs = std::minmax(*a, *b) == std::minmax(link.gpu_a, link.gpu_b);
    if (is_theirs && link.type != GPULinkType::PCIe && link.type != GPULinkType::None) return i;
  }
  return std::nullopt;
}

void MultiGPUProfiler::State::notePeers(const TraceEvent& event) {
  const auto from = deviceIn(event, "source_device"), to = deviceIn(event, "destination_device");
  if (!from || !to || *from == *to) return;
  const MemoryParams memory = event.memory_params.value_or(MemoryParams{});
  std::optional<NVLinkTransfer> transfer;
  const auto link = config.enable_nvlink_tracking ? linkBetween(*from, *to) : std::nullopt;
  if (link) {
    transfer = {*from, *to, memory.size_bytes, event.timestamp, event.duration, *link};
  }
  {
    const std::lock_guard lock(mutex);
    if (config.enable_peer_access_tracking) {
      const bool is_write = event.device_id == *from;
      ++counts.peer_accesses;
      addTo(accesses,
            {.src_gpu = event.device_id,
             .dst_gpu = is_write ? *to : *from,
             .address = is_write ? memory.dst_address : memory.src_address,
             .bytes = memory.size_bytes,
             .is_write = is_write,
             .timestamp = event.timestamp},
            config.per_gpu_buffer_size);
    }
    if (transfer) {
      ++counts.nvlink_transfers;
      counts.nvlink_bytes += transfer->bytes;
      addTo(transfers, *transfer, config.per_gpu_buffer_size);
    }
  }
  if (transfer && on_transfer) on_transfer(*transfer);
}

void MultiGPUProfiler::State::take(const TraceEvent& event) {
  std::shared_ptr<EventBuffer> events;
  {
    const std::lock_guard lock(mutex);
    ++seen;
    const auto gpu = gpus.find(event.device_id);
    if (gpu == gpus.end() || !gpu->second.is_active) return;
    events = gpu->second.events;
  }
  notePeers(event);
  events->push(event);  // may wait for room
  if (on_event) on_event(event);
}

MultiGPUProfiler::MultiGPUProfiler(MultiGPUConfig config) : state_(std::make_unique<State>()) {
  state_->config = std::move(config);
}
MultiGPUProfiler::~MultiGPUProfiler() {
  if (state_) finalize();
}
MultiGPUProfiler::MultiGPUProfiler(MultiGPUProfiler&&) noexcept = default;
MultiGPUProfiler& MultiGPUProfiler::operator=(MultiGPUProfiler&& other) noexcept {
  if (this != &other) {
    if (state_) finalize();
    state_ = std::move(other.state_);
  }
  return *this;
}

bool MultiGPUProfiler::initialize() {
  State& s = *state_;
  if (s.profiler) return s.failWith("already initialized; finalize() first");
  if (s.config.per_gpu_buffer_size == 0) {
    return s.failWith("per_gpu_buffer_size must be at least 1");
  }
  s.platform = s.config.platform == PlatformType::Unknown ? detectPlatform() : s.config.platform;
  if (s.platform == PlatformType::Unknown) {
    return s.failWith("this machine has no GPU of a known platform", ErrorCode::kUnsupported);
  }
  std::unique_ptr<IPlatformProfiler> profiler = createProfiler(s.platform);
  std::map<uint32_t, State::GPU> gpus;
  for (const DeviceInfo& info : profiler->getDeviceInfo()) {
    gpus[info.device_id] = {
        info, std::make_shared<EventBuffer>(s.config.per_gpu_buffer_size, s.config.overflow_policy),
        s.config.gpu_ids.empty()};
  }
  for (const uint32_t id : s.config.gpu_ids) {
    const auto found = gpus.find(id);
    if (found == gpus.end()) {
      return s.failWith(fmt::format("there is no {} device {}; this machine has {}",
                                    platformTypeToString(s.platform), id, gpus.size()));
    }
    found->second.is_active = true;
  }
  // Events reach their GPU's buffer by the callback. The profiler's own buffer is not read.
  ProfilerConfig config;
  config.buffer_size = 1;
  config.overflow_policy = OverflowPolicy::DropOldest;
  if (!profiler->initialize(config)) {
    return s.failWith(profiler->lastError(), profiler->lastErrorCode());
  }
  profiler->setEventCallback([&s](const TraceEvent& event) { s.take(event); });
  s.topology = {};
  s.topology_numbers.clear();
  if (s.config.capture_topology) {
    GPUTopology topology;
    if (topology.discover()) s.topology = topology.getTopology();
    s.topology_numbers = topologyNumbers(s.platform, s.topology);
  }
  const std::lock_guard lock(s.mutex);
  s.profiler = std::move(profiler);
  s.gpus = std::move(gpus);
  s.transfers.clear();
  s.accesses.clear();
  s.seen = 0;
  s.lost = 0;
  s.owner = ::getpid();
  s.counts = {};
  s.captured_ns = 0;
  return true;
}

void MultiGPUProfiler::finalize() {
  State& s = *state_;
  if (!s.profiler || s.owner != ::getpid()) return;  // a child lacks the thread that has the lock
  if (isCapturing()) (void)stopCapture();
  s.profiler.reset();
  const std::lock_guard lock(s.mutex);
  s.gpus.clear();
}

bool MultiGPUProfiler::isInitialized() const { return state_->profiler != nullptr; }

bool MultiGPUProfiler::addGPU(uint32_t gpu_id) { return state_->setActive(gpu_id, true); }
bool MultiGPUProfiler::removeGPU(uint32_t gpu_id) { return state_->setActive(gpu_id, false); }

std::vector<uint32_t> MultiGPUProfiler::getActiveGPUs() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<uint32_t> active;
  for (const auto& [id, gpu] : state_->gpus) {
    if (gpu.is_active) active.push_back(id);
  }
  return active;
}

uint32_t MultiGPUProfiler::getAvailableGPUCount() const {
  const PlatformType wanted = state_->config.platform;
  const PlatformType platform = wanted == PlatformType::Unknown ? detectPlatform() : wanted;
  return static_cast<uint32_t>(createProfiler(platform)->getDeviceInfo().size());
}

bool MultiGPUProfiler::startCapture() {
  State& s = *state_;
  if (!s.profiler) return s.failWith("not initialized");
  {
    const std::lock_guard lock(s.mutex);
    for (const auto& [id, gpu] : s.gpus) gpu.events->setWaiting(true);
  }
  if (!s.profiler->startCapture()) return s.failAsProfiler();
  const std::lock_guard lock(s.mutex);
  s.started_ns = monotonicNs();
  return true;
}

bool MultiGPUProfiler::stopCapture() {
  State& s = *state_;
  if (!s.profiler) return s.failWith("not initialized");
  {
    // No callback waits for room any more: whoever stops reads nothing meanwhile.
    const std::lock_guard lock(s.mutex);
    for (const auto& [id, gpu] : s.gpus) gpu.events->setWaiting(false);
    if (s.started_ns != 0) s.captured_ns += monotonicNs() - s.started_ns;
    s.started_ns = 0;
  }
  return s.profiler->stopCapture() || s.failAsProfiler();
}

bool MultiGPUProfiler::isCapturing() const {
  return state_->profiler && state_->profiler->isCapturing();
}

size_t MultiGPUProfiler::getEvents(std::vector<TraceEvent>& events, size_t max) {
  std::vector<std::shared_ptr<EventBuffer>> buffers;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [id, gpu] : state_->gpus) buffers.push_back(gpu.events);
  }
  const size_t before = events.size();
  size_t taken = 0;
  if (max == 0) {
    for (const auto& buffer : buffers) taken += buffer->take(events, 0);
  }
  while (taken < max) {
    EventBuffer* first = nullptr;
    Timestamp earliest = 0;
    for (const auto& buffer : buffers) {
      const auto oldest = buffer->oldest();
      if (oldest && (first == nullptr || *oldest < earliest)) {
        first = buffer.get();
        earliest = *oldest;
      }
    }
    if (first == nullptr) break;
    taken += first->take(events, 1);
  }
  std::stable_sort(
      events.begin() + static_cast<ptrdiff_t>(before), events.end(),
      [](const TraceEvent& a, const TraceEvent& b) { return a.timestamp < b.timestamp; });
  return taken;
}

size_t MultiGPUProfiler::getEventsFromGPU(uint32_t gpu_id, std::vector<TraceEvent>& events,
                                          size_t max) {
  std::shared_ptr<EventBuffer> buffer;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->gpus.find(gpu_id);
    if (found == state_->gpus.end()) return 0;
    buffer = found->second.events;
  }
  return buffer->take(events, max);
}

std::vector<NVLinkTransfer> MultiGPUProfiler::getNVLinkTransfers() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->transfers.begin(), state_->transfers.end()};
}

std::vector<PeerAccess> MultiGPUProfiler::getPeerAccesses() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->accesses.begin(), state_->accesses.end()};
}

uint64_t MultiGPUProfiler::totalEventsCaptured() const { return getStatistics().total_events; }

uint64_t MultiGPUProfiler::eventsFromGPU(uint32_t gpu_id) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->gpus.find(gpu_id);
  return found == state_->gpus.end() ? 0 : found->second.events->captured();
}

MultiGPUStats MultiGPUProfiler::getStatistics() const {
  State& s = *state_;
  // Read before `seen`, which grows: what the profiler has dropped from its own buffer, which holds
  // one event, is no loss.
  const uint64_t given =
      s.profiler ? s.profiler->eventsCaptured() + s.profiler->eventsDropped() : 0;
  const std::lock_guard lock(s.mutex);
  MultiGPUStats stats = s.counts;
  if (given > s.seen) s.lost = std::max(s.lost, given - s.seen);
  stats.total_dropped = s.lost;
  for (const auto& [id, gpu] : s.gpus) {
    stats.events_per_gpu[id] = gpu.events->captured();
    stats.dropped_per_gpu[id] = gpu.events->dropped();
    stats.total_events += gpu.events->captured();
    stats.total_dropped += gpu.events->dropped();
  }
  const int64_t running = s.started_ns == 0 ? 0 : monotonicNs() - s.started_ns;
  stats.capture_duration_ms = static_cast<double>(s.captured_ns + running) / 1e6;
  return stats;
}

std::vector<DeviceInfo> MultiGPUProfiler::getAllDeviceInfo() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<DeviceInfo> infos;
  for (const auto& [id, gpu] : state_->gpus) {
    if (gpu.is_active) infos.push_back(gpu.info);
  }
  return infos;
}

std::optional<DeviceInfo> MultiGPUProfiler::getDeviceInfo(uint32_t gpu_id) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->gpus.find(gpu_id);
  if (found == state_->gpus.end()) return std::nullopt;
  return found->second.info;
}

GPUTopologyInfo MultiGPUProfiler::getTopology() const { return state_->topology; }

std::optional<uint32_t> MultiGPUProfiler::topologyGPU(uint32_t gpu_id) const {
  return state_->topologyNumber(gpu_id);
}

void MultiGPUProfiler::setEventCallback(EventCallback callback) {
  state_->on_event = std::move(callback);
}
void MultiGPUProfiler::setNVLinkCallback(NVLinkCallback callback) {
  state_->on_transfer = std::move(callback);
}

std::string MultiGPUProfiler::lastError() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error.message;
}
ErrorCode MultiGPUProfiler::lastErrorCode() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error.code;
}

}  // namespace tracesmith
