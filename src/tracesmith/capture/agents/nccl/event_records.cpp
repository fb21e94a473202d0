// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/nccl/event_records.hpp"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/nccl_listener.hpp"

namespace tracesmith::agent::nccl {
namespace {

/// Ids of this agent: other agents of the process take theirs elsewhere.
constexpr uint64_t kIdsOfAgent = uint64_t{1} << 40;  // as cuda_file::kIdsOfLife
std::atomic<uint64_t> g_next_id{1};

enum class Arm : int { kUntried, kTrying, kArmed, kNot };
std::atomic<Arm> g_arm{Arm::kUntried};

// Only of the host: NCCL does nothing else than to call the plugin.
constexpr int kHostEvents = bitOf(Event::kCollective) | bitOf(Event::kMessage) |
                            bitOf(Event::kGroupCall) | bitOf(Event::kCollectiveCall) |
                            bitOf(Event::kMessageCall) | bitOf(Event::kCopyCollective);
constexpr int kDefaultEvents = kHostEvents | bitOf(Event::kKernelChannel);
constexpr int kAllEvents =
    kDefaultEvents | bitOf(Event::kProxyOperation) | bitOf(Event::kProxyStep);
int g_wanted = kDefaultEvents;

bool armNow() {
  const char* const session = getenv(arena::kEnvSession);
  if (session == nullptr || *session == 0 || !arm("nccl")) return false;
  const uint64_t first = (firstCorrelation() + kIdsOfAgent - 1) / kIdsOfAgent * kIdsOfAgent;
  takeCorrelations(first + kIdsOfAgent);
  g_next_id.store(first, std::memory_order_relaxed);
  const char* const events = setting(arena::kEnvNcclEvents);
  if (events != nullptr && strcmp(events, "light") == 0) g_wanted = kHostEvents;
  if (events != nullptr && strcmp(events, "full") == 0) g_wanted = kAllEvents;
  return true;
}

struct Ids {
  uint64_t next = 0;
  uint64_t end = 0;
};
constinit thread_local Ids t_ids __attribute__((tls_model("initial-exec")));

/// A record being written; a signal handler must not start another meanwhile.
class Busy {
 public:
  explicit Busy(ThreadState& t) : t_(t) {
    t_.busy = stackPointer();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Busy() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_.busy = 0;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadState& t_;
};

// The program's own listener.
std::atomic<NcclListener> g_listener{nullptr};
std::atomic<void*> g_listener_context{nullptr};
std::atomic<int> g_listening{0};  // calls under way

bool hasListener() { return g_listener.load(std::memory_order_relaxed) != nullptr; }

template <class Record>
void tell(Record record, const void* part, size_t part_bytes) {
  g_listening.fetch_add(1);
  if (const NcclListener listener = g_listener.load()) {
    alignas(8) uint8_t bytes[sizeof record + sizeof(arena::NcclTransferPart)];
    record.time = nowNs();
    memcpy(bytes, &record, sizeof record);
    if (part_bytes != 0) memcpy(bytes + sizeof record, part, part_bytes);
    listener(g_listener_context.load(), bytes, sizeof record + part_bytes);
  }
  g_listening.fetch_sub(1);
}

bool isRingOpen() {
  return g_arm.load(std::memory_order_acquire) == Arm::kArmed && ready() && capturing() &&
         !isBusy(t_state);
}

template <class Record>
void write(const Record& record, const void* part = nullptr, size_t part_bytes = 0) {
  if (__builtin_expect(hasListener(), 0)) {
    tell(record, part, part_bytes);
    if (!isRingOpen()) return;
  }
  ThreadState& t = t_state;
  const Busy busy(t);
  bump(t.ring->emitted);
  const uint64_t bytes = sizeof record + part_bytes;
  if (uint8_t* const p = reserve(t, bytes)) {
    memcpy(p, &record, sizeof record);
    if (part_bytes != 0) memcpy(p + sizeof record, part, part_bytes);
    commit(t, bytes);
  }
}

template <class Record>
constexpr uint16_t wordsOf(size_t part_bytes = 0) {
  return static_cast<uint16_t>((sizeof(Record) + part_bytes) / 8);
}

}  // namespace

bool isArmed() {
  Arm state = g_arm.load(std::memory_order_acquire);
  if (state == Arm::kUntried && g_arm.compare_exchange_strong(state, Arm::kTrying)) {
    state = armNow() ? Arm::kArmed : Arm::kNot;
    g_arm.store(state, std::memory_order_release);
  }
  while (state == Arm::kTrying) {
    sched_yield();
    state = g_arm.load(std::memory_order_acquire);
  }
  return state == Arm::kArmed;
}

bool isRecording() {
  if (__builtin_expect(hasListener(), 0)) return true;
  if (g_arm.load(std::memory_order_acquire) != Arm::kArmed || !ready() || !capturing()) {
    return false;
  }
  if (!isBusy(t_state)) return true;
  countReentrant();
  return false;
}

int wantedEvents() {
  if (__builtin_expect(hasListener(), 0)) return g_wanted;
  if (!isArmed()) return 0;
  return capturing() ? g_wanted : kHostEvents;
}

uint64_t nextId() {
  constexpr uint64_t kBatch = 256;
  Ids& ids = t_ids;
  if (ids.next == ids.end) {
    ids.next = g_next_id.fetch_add(kBatch, std::memory_order_relaxed);
    ids.end = ids.next + kBatch;
  }
  return ids.next++;
}

void writeStart(Event event, uint32_t context, uint64_t id, uint64_t parent, const void* part,
                size_t part_bytes) {
  const arena::NcclStartRecord record{{arena::RecordKind::kNcclStart, static_cast<uint8_t>(event),
                                       wordsOf<arena::NcclStartRecord>(part_bytes), context},
                                      stamp(),
                                      id,
                                      parent};
  write(record, part, part_bytes);
}

void writeStop(const Handle& handle, bool has_device_time, uint64_t device_time) {
  write(arena::NcclStopRecord{{arena::RecordKind::kNcclStop, static_cast<uint8_t>(handle.event),
                               wordsOf<arena::NcclStopRecord>(), has_device_time ? 1u : 0u},
                              stamp(),
                              handle.id,
                              device_time});
}

void writeState(const Handle& handle, int state, uint64_t bytes) {
  write(arena::NcclStateRecord{{arena::RecordKind::kNcclState, static_cast<uint8_t>(handle.event),
                                wordsOf<arena::NcclStateRecord>(), static_cast<uint32_t>(state)},
                               stamp(),
                               handle.id,
                               bytes});
}

void writeCommunicator(const CommunicatorFacts& facts, bool is_gone) {
  if (hasListener()) {
    tell(arena::NcclCommunicatorRecord{{arena::RecordKind::kNcclCommunicator,
                                        static_cast<uint8_t>(is_gone ? 1 : 0), 0, facts.context},
                                       0,
                                       facts.key,
                                       facts.rank,
                                       static_cast<uint32_t>(facts.ranks < 0 ? 0 : facts.ranks),
                                       static_cast<uint32_t>(facts.nodes < 0 ? 0 : facts.nodes),
                                       0},
         nullptr, 0);
  }
  if (!isArmed() || !ready() || isBusy(t_state)) return;
  constexpr size_t kMostName = 256;
  ThreadState& t = t_state;
  const Busy busy(t);
  const size_t name_bytes = facts.name == nullptr ? 0 : strnlen(facts.name, kMostName);
  const uint64_t bytes = (sizeof(arena::NcclCommunicatorRecord) + name_bytes + 7) & ~uint64_t{7};
  if (uint8_t* const p = reserve(t, bytes)) {
    const arena::NcclCommunicatorRecord record{
        {arena::RecordKind::kNcclCommunicator, static_cast<uint8_t>(is_gone ? 1 : 0),
         static_cast<uint16_t>(bytes / 8), facts.context},
        stamp(),
        facts.key,
        facts.rank,
        static_cast<uint32_t>(facts.ranks < 0 ? 0 : facts.ranks),
        static_cast<uint32_t>(facts.nodes < 0 ? 0 : facts.nodes),
        static_cast<uint32_t>(name_bytes)};
    memcpy(p, &record, sizeof record);
    if (name_bytes != 0) memcpy(p + sizeof record, facts.name, name_bytes);
    commit(t, bytes);
  } else {
    bump(t.ring->emitted);  // reserve() has counted it as dropped
  }
}

}  // namespace tracesmith::agent::nccl

extern "C" __attribute__((visibility("default"))) void tracesmithNcclListen(
    tracesmith::NcclListener listener, void* context) {
  using namespace tracesmith::agent::nccl;  // NOLINT: a C function
  g_listener.store(nullptr);
  while (g_listening.load() != 0) sched_yield();
  g_listener_context.store(context);
  g_listener.store(listener);
}
