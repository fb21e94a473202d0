// SPDX-License-Identifier: Apache-2.0
// The profiler plugin for NCCL: the symbols ncclProfiler_v1 to ncclProfiler_v7, of which NCCL takes
// the newest that it knows (NCCL_PROFILER_PLUGIN).
//
// Every call returns success: NCCL must run as it would without a profiler.
#include <errno.h>
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/nccl/descriptor_conversion.hpp"
#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/next_plugin.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace tracesmith::agent::nccl {
namespace {

/// A communicator, as NCCL knows the plugin's context.
struct Context {
  std::atomic<bool> is_used{false};
  uint32_t number = 0;
  int* mask = nullptr;   // NCCL's, one for all communicators
  void* next = nullptr;  // the next plugin's context
  bool has_next = false;
  std::atomic<uint64_t> told_key{0};  // the record of the communicator that is written has this key
};
constexpr size_t kMostCommunicators = 4096;
Context g_contexts[kMostCommunicators];
std::atomic<uint32_t> g_last_number{0};

/// For communicators beyond kMostCommunicators: their events belong to none.
Context g_any_context;

Context& takeContext() {
  const uint32_t number = g_last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  for (size_t i = 0; i < kMostCommunicators; ++i) {
    Context& c = g_contexts[(number + i) % kMostCommunicators];
    bool expected = false;
    if (!c.is_used.compare_exchange_strong(expected, true)) continue;
    c.number = number;
    c.next = nullptr;
    c.has_next = false;
    c.told_key.store(0, std::memory_order_relaxed);
    return c;
  }
  return g_any_context;
}

/// NCCL may want less or more than at the start: the session was told to record, or the next plugin
/// has changed its mind. NCCL reads the mask before each call of its API.
void updateMask(const Context& context) {
  if (context.mask == nullptr) return;
  const int wanted = wantedEvents() | nextMask();
  if (__atomic_load_n(context.mask, __ATOMIC_RELAXED) != wanted) {
    __atomic_store_n(context.mask, wanted, __ATOMIC_RELAXED);
  }
}

void copyName(char (&to)[arena::kNcclNameBytes], const char* name) {
  if (name != nullptr) memcpy(to, name, strnlen(name, sizeof to));
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
template <class Transfer>
void writeTransfer(Event event, const Context& context, uint64_t id, uint64_t parent,
                   const Transfer& transfer) {
  arena::NcclTransferPart part{};
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
void writeEvent(Event event, Context& context, uint64_t id, const Descriptor& d) {
  const uint64_t parent = Handle::of(d.parent).id;
  switch (event) {
    case Event::kCollective:
      tellCommunicator(context, d.rank, d.collective);
      return writeTransfer(event, context, id, parent, d.collective);
    case Event::kMessage:
      tellCommunicator(context, d.rank, d.message);
      return writeTransfer(event, context, id, parent, d.message);
    case Event::kProxyOperation: {
      const ProxyOperation& p = d.proxy_operation;
      const arena::NcclProxyPart part{p.pid,     p.peer,
                                      p.steps,   p.chunk_bytes,
                                      p.channel, p.is_send != 0 ? uint8_t{1} : uint8_t{0},
                                      {}};
      return writeStart(event, context.number, id, parent, &part, sizeof part);
    }
    case Event::kProxyStep:
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
        writeTransfer(event, context, id, parent, d.copy_collective);
      }
      return;
    default:
      return;
  }
}

/// Events that have records. Others are only passed on.
constexpr int kRecorded = bitOf(Event::kCollective) | bitOf(Event::kMessage) |
                          bitOf(Event::kProxyOperation) | bitOf(Event::kProxyStep) |
                          bitOf(Event::kKernelChannel) | bitOf(Event::kCollectiveCall) |
                          bitOf(Event::kMessageCall) | bitOf(Event::kCopyCollective);

template <class Descriptor>
void* startEvent(Context& context, const Descriptor& d) {
  const auto type = static_cast<uint64_t>(d.type);
  if (type == 0 || (type & (type - 1)) != 0 || type >> static_cast<int>(Event::kCount) != 0) {
    return nullptr;  // of a version that came later
  }
  const auto event = static_cast<Event>(__builtin_ctzll(type));
  if ((bitOf(event) & (bitOf(Event::kCollective) | bitOf(Event::kMessage) |
                       bitOf(Event::kCollectiveCall) | bitOf(Event::kMessageCall))) != 0) {
    updateMask(context);
  }
  const bool is_recorded = (bitOf(event) & kRecorded & wantedEvents()) != 0 && isRecording();
  if (!is_recorded && !context.has_next) return nullptr;
  Handle handle{nextId(), event, false};
  if constexpr (requires { d.kernel_channel.device_time; }) {
    handle.is_timed = event == Event::kKernelChannel;
  }
  if (is_recorded) writeEvent(event, context, handle.id, d);
  const bool is_passed_on =
      context.has_next && startNext(context.next, handle.id, event, d) != nullptr;
  return is_recorded || is_passed_on ? handle.value() : nullptr;
}

void stopEvent(const void* value) {
  if (value == nullptr) return;
  const Handle handle = Handle::of(value);
  // The end of a channel that has the device's time came as a state.
  if ((bitOf(handle.event) & kRecorded & wantedEvents()) != 0 && !handle.is_timed &&
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
  Context& context = takeContext();
  const bool is_own = &context != &g_any_context;
  if (is_own) {
    context.mask = mask;
    context.has_next = initNext(version, communicator, &context.next);
  }
  if (is_own && version >= 4) {
    context.told_key.store(communicator.key, std::memory_order_relaxed);
    writeCommunicator({.context = context.number,
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
  return &context;
}

void finalizeCommunicator(Context& context) {
  if (&context == &g_any_context) return;
  writeCommunicator({.context = context.number}, true);
  if (context.has_next) finalizeNext(context.next);
  context.has_next = false;
  context.mask = nullptr;
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
    if (context != nullptr && descriptor != nullptr) {
      *handle = startEvent(*static_cast<Context*>(context), *descriptor);
    }
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
    if (context != nullptr) finalizeCommunicator(*static_cast<Context*>(context));
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
