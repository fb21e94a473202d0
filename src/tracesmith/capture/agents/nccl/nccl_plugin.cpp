// SPDX-License-Identifier: Apache-2.0
// The profiler plugin for NCCL: the symbols ncclProfiler_v1 to ncclProfiler_v7, of which NCCL takes
// the newest that it knows (NCCL_PROFILER_PLUGIN).
//
// Every call returns success: NCCL must run as it would without a profiler.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/nccl/descriptor_conversion.hpp"
#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/next_plugin.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace tracesmith::agent::nccl {
namespace {

/// A communicator.
struct Context {
  std::atomic<bool> is_used{false};
  uint32_t number = 0;
  void* next = nullptr;  // the next plugin's context
  bool has_next = false;
  std::atomic<uint64_t> told_key{0};  // the record of the communicator that is written has this key
};
// NCCL knows a context by its place here, counted from 1, and not by its address: the threads that
// send for other processes (PXN) hand over what the plugin of the other process gave.
constexpr size_t kContextsOfChunk = 4096;
constexpr size_t kMostChunks = 256;
Context g_first_contexts[kContextsOfChunk];
std::atomic<Context*> g_chunks[kMostChunks] = {g_first_contexts};
std::atomic<uint32_t> g_last_number{0};

/// Of events that belong to no communicator of this process.
Context g_no_context;

/// NCCL's, one for all communicators; it outlives them.
std::atomic<int*> g_nccl_mask{nullptr};

Context* chunkAt(size_t number) {
  Context* chunk = g_chunks[number].load(std::memory_order_acquire);
  if (chunk != nullptr) return chunk;
  constexpr size_t kBytes = sizeof(Context) * kContextsOfChunk;
  void* const made =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  if (g_chunks[number].compare_exchange_strong(chunk, static_cast<Context*>(made))) {
    return static_cast<Context*>(made);  // zeros are what a new Context has
  }
  munmap(made, kBytes);
  return chunk;
}

/// A free context and its value for NCCL, or null.
Context* takeContext(void** value) {
  const uint32_t number = g_last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  for (size_t chunk = 0; chunk < kMostChunks; ++chunk) {
    Context* const contexts = chunkAt(chunk);
    if (contexts == nullptr) break;
    for (size_t i = 0; i < kContextsOfChunk; ++i) {
      const size_t place = (number + i) % kContextsOfChunk;
      Context& c = contexts[place];
      bool expected = false;
      if (!c.is_used.compare_exchange_strong(expected, true)) continue;
      c.number = number;
      c.next = nullptr;
      c.has_next = false;
      c.told_key.store(0, std::memory_order_relaxed);
      *value = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
          uintptr_t{chunk * kContextsOfChunk + place + 1});
      return &c;
    }
  }
  *value = nullptr;
  return nullptr;
}

Context& contextOf(const void* value) {
  const uintptr_t place = reinterpret_cast<uintptr_t>(value) - 1;
  if (place >= kMostChunks * kContextsOfChunk) return g_no_context;
  Context* const chunk = g_chunks[place / kContextsOfChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? g_no_context : chunk[place % kContextsOfChunk];
}

/// NCCL may want less or more than at the start: the session was told to record, or the next plugin
/// has changed its mind. NCCL reads the mask before each call of its API.
void updateMask(int wanted_by_session) {
  int* const mask = g_nccl_mask.load(std::memory_order_relaxed);
  if (mask == nullptr) return;
  const int wanted = wanted_by_session | nextMask();
  if (__atomic_load_n(mask, __ATOMIC_RELAXED) != wanted) {
    __atomic_store_n(mask, wanted, __ATOMIC_RELAXED);
  }
}

/// The bytes before the first zero, which is the lowest one; whether there is one. [hot]
bool cutAtZero(uint64_t& word) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const uint64_t zeros = (word - kOnes) & ~word & kHighs;
  if (zeros == 0) return false;
  word &= ((zeros & -zeros) >> 7) - 1;
  return true;
}

/// Reads 16 bytes at once, also behind the name, but never of another page. `to` is zero. [hot]
__attribute__((no_sanitize("address"))) void copyName(char (&to)[arena::kNcclNameBytes],
                                                      const char* name) {
  static_assert(sizeof to == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  constexpr uintptr_t kPage = 4096;
  if (name == nullptr) return;
  if (reinterpret_cast<uintptr_t>(name) % kPage > kPage - sizeof to) {
    memcpy(to, name, strnlen(name, sizeof to));
    return;
  }
  uint64_t first, second;
  __builtin_memcpy(&first, name, sizeof first);
  __builtin_memcpy(&second, name + sizeof first, sizeof second);
  if (cutAtZero(first)) {
    second = 0;
  } else {
    cutAtZero(second);
  }
  memcpy(to, &first, sizeof first);
  memcpy(to + sizeof first, &second, sizeof second);
}

template <class Call>
void writeCall(Event event, const Context& context, uint64_t id, uint64_t parent,
               const Call& call) {
  arena::NcclCallPart part{};
  part.stream = reinterpret_cast<uintptr_t>(call.stream);
  part.element_count = call.count;
  part.root = -1;
  if constexpr (requires { call.root; }) part.root = call.root;
  part.stack = callStack();
  part.is_captured = call.is_captured ? 1 : 0;
  copyName(part.function, call.function);
  copyName(part.data_type, call.data_type);
  writeStart(event, context.number, id, parent, &part, sizeof part);
}

/// A collective or a message, of any version.
template <class Descriptor, class Transfer>
void writeTransfer(Event event, const Context& context, uint64_t id, uint64_t parent, int wanted,
                   const Descriptor&, const Transfer& transfer) {
  arena::NcclTransferPart part{};
  if constexpr (requires(Descriptor d) { d.kernel_channel; }) {
    part.has_channel_events = (wanted & bitOf(Event::kKernelChannel)) != 0 ? 1 : 0;
  }
  part.peer = -1;
  part.element_count = transfer.count;
  if constexpr (requires { transfer.sequence; }) part.sequence = transfer.sequence;
  if constexpr (requires { transfer.send_buffer; }) {
    part.send_buffer = reinterpret_cast<uintptr_t>(transfer.send_buffer);
    part.receive_buffer = reinterpret_cast<uintptr_t>(transfer.receive_buffer);
  } else {
    part.send_buffer = reinterpret_cast<uintptr_t>(transfer.buffer);
  }
  if constexpr (requires { transfer.root; }) part.peer = transfer.root;
  if constexpr (requires { transfer.peer; }) part.peer = transfer.peer;
  if constexpr (requires { transfer.channels; }) part.channels = transfer.channels;
  if constexpr (requires { transfer.group; }) {
    part.group = Handle::of(transfer.group).id;
  } else {
    part.stack = callStack();
  }
  copyName(part.function, nameOf(kFunctionNames, transfer.function));
  copyName(part.data_type, nameOf(kDataTypeNames, transfer.data_type));
  if constexpr (requires { transfer.algorithm; }) {
    copyName(part.algorithm, nameOf(kAlgorithmNames, transfer.algorithm));
    copyName(part.protocol, nameOf(kProtocolNames, transfer.protocol));
  }
  writeStart(event, context.number, id, parent, &part, sizeof part);
}

/// Before version 4 of the interface, calls say which communicator they are of. NCCL 2.27 and later
/// say nothing in these fields.
template <class Transfer>
void tellCommunicator(Context& context, int rank, const Transfer& transfer) {
  if constexpr (requires { transfer.communicator_hash; }) {
    const uint64_t key = transfer.communicator_hash;
    if (context.number == 0 || context.told_key.load(std::memory_order_relaxed) == key) return;
    if (context.told_key.exchange(key) == key) return;
    writeCommunicator(
        {.context = context.number, .key = key, .rank = rank, .name = transfer.communicator_name},
        false);
  }
}

template <class Descriptor>
void writeEvent(Event event, Context& context, uint64_t id, uint64_t parent, int wanted,
                const Descriptor& d) {
  switch (event) {
    case Event::kCollective:
      tellCommunicator(context, d.rank, d.collective);
      return writeTransfer(event, context, id, parent, wanted, d, d.collective);
    case Event::kMessage:
      tellCommunicator(context, d.rank, d.message);
      return writeTransfer(event, context, id, parent, wanted, d, d.message);
    case Event::kProxyOperation: {
      const ProxyOperation& p = d.proxy_operation;
      const arena::NcclProxyPart part{
          p.peer, p.steps, p.chunk_bytes, p.channel, p.is_send != 0 ? uint8_t{1} : uint8_t{0}, {}};
      return writeStart(event, context.number, id, parent, &part, sizeof part);
    }
    case Event::kProxyStep:
    case Event::kGroupCall:
      return writeStart(event, context.number, id, parent, nullptr, 0);
    case Event::kKernelChannel:
      if constexpr (requires { d.kernel_channel; }) {
        arena::NcclChannelPart part{};
        part.channel = d.kernel_channel.channel;
        if constexpr (requires { d.kernel_channel.device_time; }) {
          part.device_time = d.kernel_channel.device_time;
        }
        writeStart(event, context.number, id, parent, &part, sizeof part);
      }
      return;
    case Event::kCollectiveCall:
      if constexpr (requires { d.collective_call; }) {
        writeCall(event, context, id, parent, d.collective_call);
      }
      return;
    case Event::kMessageCall:
      if constexpr (requires { d.message_call; }) {
        writeCall(event, context, id, parent, d.message_call);
      }
      return;
    case Event::kCopyCollective:
      if constexpr (requires { d.copy_collective; }) {
        writeTransfer(event, context, id, parent, wanted, d, d.copy_collective);
      }
      return;
    default:
      return;
  }
}

/// Events that have records. Others are only passed on.
constexpr int kRecorded =
    bitOf(Event::kCollective) | bitOf(Event::kMessage) | bitOf(Event::kProxyOperation) |
    bitOf(Event::kProxyStep) | bitOf(Event::kKernelChannel) | bitOf(Event::kGroupCall) |
    bitOf(Event::kCollectiveCall) | bitOf(Event::kMessageCall) | bitOf(Event::kCopyCollective);

/// Whether this process does it for another one (PXN): then the context, and the parent of a
/// proxy's operation, are the other one's.
template <class Descriptor>
bool isForeign(Event event, const Descriptor& d) {
  if (event == Event::kProxyOperation) return d.proxy_operation.pid != getpid();
  const bool is_part = event == Event::kProxyStep || event == Event::kNetwork;
  return is_part && Handle::of(d.parent).is_foreign;
}

template <class Descriptor>
void* startEvent(const void* context_value, const Descriptor& d) {
  const auto type = static_cast<uint64_t>(d.type);
  if (type == 0 || (type & (type - 1)) != 0 || type >> static_cast<int>(Event::kCount) != 0) {
    return nullptr;  // of a version that came later
  }
  const auto event = static_cast<Event>(__builtin_ctzll(type));
  const int wanted = wantedEvents();
  if ((bitOf(event) & (bitOf(Event::kCollective) | bitOf(Event::kMessage) |
                       bitOf(Event::kCollectiveCall) | bitOf(Event::kMessageCall))) != 0) {
    updateMask(wanted);
  }
  const bool is_foreign = isForeign(event, d);
  Context& context = is_foreign ? g_no_context : contextOf(context_value);
  const bool has_next = is_foreign || context.has_next;
  const bool is_recorded = (bitOf(event) & kRecorded & wanted) != 0 && isRecording();
  if (!is_recorded && !has_next) return nullptr;
  const bool has_parent = !is_foreign || event != Event::kProxyOperation;
  Handle handle{nextId(), event, false, is_foreign};
  if constexpr (requires { d.kernel_channel.device_time; }) {
    handle.is_timed = event == Event::kKernelChannel;
  }
  if (is_recorded) {
    writeEvent(event, context, handle.id, has_parent ? Handle::of(d.parent).id : 0, wanted, d);
  }
  const bool is_passed_on =
      has_next && startNext(context.next, handle.id, event, d, has_parent) != nullptr;
  return is_recorded || is_passed_on ? handle.value() : nullptr;
}

void stopEvent(const void* value) {
  if (value == nullptr) return;
  const Handle handle = Handle::of(value);
  // The end of a channel that has the device's time came as a state.
  if (!handle.is_timed && (bitOf(handle.event) & kRecorded & wantedEvents()) != 0 &&
      isRecording()) {
    writeStop(handle, false, 0);
  }
  stopNext(value);
}

/// `arguments` may be null.
template <class Arguments>
void changeState(const void* value, int state, const Arguments* arguments) {
  if (value == nullptr) return;
  const Handle handle = Handle::of(value);
  if ((bitOf(handle.event) & kRecorded & wantedEvents()) != 0 && isRecording()) {
    if constexpr (requires { arguments->kernel_channel.device_time; }) {
      if (state == kStateKernelChannelStop && arguments != nullptr) {
        writeStop(handle, true, arguments->kernel_channel.device_time);
      } else if (handle.event == Event::kProxyStep) {
        writeState(handle, state, arguments == nullptr ? 0 : arguments->proxy_step.bytes);
      }
    } else if (handle.event == Event::kProxyStep) {
      writeState(handle, state, 0);
    }
  }
  stateNext(value, state, arguments);
}

void* initCommunicator(int version, int* mask, const NewCommunicator& communicator) {
  void* value = nullptr;
  Context* const context = takeContext(&value);
  if (mask != nullptr) g_nccl_mask.store(mask, std::memory_order_relaxed);
  if (context == nullptr) return nullptr;
  context->has_next = initNext(version, communicator, &context->next);
  if (version >= 4) {
    context->told_key.store(communicator.key, std::memory_order_relaxed);
    writeCommunicator({.context = context->number,
                       .key = communicator.key,
                       .rank = communicator.rank,
                       .ranks = communicator.ranks,
                       .nodes = communicator.nodes,
                       .name = communicator.name},
                      false);
  }
  if (mask != nullptr) {
    __atomic_store_n(mask, wantedEvents() | nextMask(), __ATOMIC_RELAXED);
  }
  return value;
}

void finalizeCommunicator(Context& context) {
  if (&context == &g_no_context || !context.is_used.load()) return;
  writeCommunicator({.context = context.number}, true);
  if (context.has_next) finalizeNext(context.next);
  context.has_next = false;
  context.is_used.store(false);
}

class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int before_ = errno;
};

/// The functions of one version's table.
template <int kVersion>
struct Plugin {
  using Descriptor = typename Api<kVersion>::Descriptor;
  using Arguments = typename Api<kVersion>::Arguments;

  static Result initOld(void** context, int* mask) {
    const KeptErrno kept;
    *context = initCommunicator(kVersion, mask, {});
    return kSuccess;
  }
  static Result init4(void** context, int* mask, const char* name, uint64_t key, int nodes,
                      int ranks, int rank, Logger log) {
    const KeptErrno kept;
    *context = initCommunicator(kVersion, mask, {name, key, nodes, ranks, rank, log});
    return kSuccess;
  }
  static Result init5(void** context, uint64_t key, int* mask, const char* name, int nodes,
                      int ranks, int rank, Logger log) {
    return init4(context, mask, name, key, nodes, ranks, rank, log);
  }
  static Result start(void* context, void** handle, Descriptor* descriptor) {
    const KeptErrno kept;
    *handle = nullptr;
    if (descriptor != nullptr) *handle = startEvent(context, *descriptor);
    return kSuccess;
  }
  static Result stop(void* handle) {
    const KeptErrno kept;
    stopEvent(handle);
    return kSuccess;
  }
  static Result state(void* handle, int state, Arguments* arguments) {
    const KeptErrno kept;
    changeState(handle, state, arguments);
    return kSuccess;
  }
  static Result finalize(void* context) {
    const KeptErrno kept;
    finalizeCommunicator(contextOf(context));
    return kSuccess;
  }
};

}  // namespace

#define TS_NCCL_PLUGIN(version, init)                                        \
  extern "C" __attribute__((visibility("default")))                          \
  const Api<version>::Symbol ncclProfiler_v##version;                        \
  const Api<version>::Symbol ncclProfiler_v##version = {                     \
      "tracesmith",          Plugin<version>::init,  Plugin<version>::start, \
      Plugin<version>::stop, Plugin<version>::state, Plugin<version>::finalize};
// NOLINTBEGIN(readability-identifier-naming): NCCL's names
TS_NCCL_PLUGIN(1, initOld)
TS_NCCL_PLUGIN(2, initOld)
TS_NCCL_PLUGIN(3, initOld)
TS_NCCL_PLUGIN(4, init4)
TS_NCCL_PLUGIN(5, init5)
TS_NCCL_PLUGIN(6, init5)
TS_NCCL_PLUGIN(7, init5)
// NOLINTEND(readability-identifier-naming)

}  // namespace tracesmith::agent::nccl
