// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler interface, versions 1 to 7: the layouts that NCCL passes to a plugin. NCCL looks
// for the newest version that a plugin has. Offsets are asserted below, and
// tests/nccl/nccl_layout_test.py compares them with the debug information of a published NCCL.
//
//   version   NCCL    new
//   1         2.23
//   2         2.24    names instead of numbers
//   3         2.26    channels of kernels, events of network plugins
//   4         2.27    the GPU's time of channels; the communicator's facts move to init()
//   5         2.28    calls of the API, launches; 64 bits of events
//   6         2.29    collectives by copy engines
//   7         2.31    phases of symmetric kernels, tags
//
// One name has one meaning in all versions, so that templates can ask what a version has.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tracesmith::agent::nccl {

using Result = int;  // ncclResult_t
constexpr Result kSuccess = 0;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,  // NOLINT
                        const char* format, ...);

/// States that NCCL reports, of those that this plugin uses.
constexpr int kStateKernelChannelStop = 22;

// Parts that all versions have alike.
struct ProxyOperation {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct ProxyStep {
  int step;
};
struct NetworkEvent {
  int64_t network_id;
  void* data;
};
struct TimedChannel {
  uint8_t channel;
  uint64_t device_time;
};
struct KernelLaunch {
  void* stream;
};
struct GroupCall {
  bool is_captured;
  int depth;
};

struct Descriptor1 {
  struct Collective {
    const char* communicator_name;
    uint64_t communicator_hash;
    uint64_t sequence;
    uint8_t function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    uint8_t data_type;
    uint32_t reduction;
    size_t traffic_bytes;
    uint8_t channels;
    uint8_t warps;
    uint8_t algorithm;
    uint8_t protocol;
    int is_collnet;
    int is_nvls;
  };
  struct Message {
    const char* communicator_name;
    uint64_t communicator_hash;
    uint8_t function;
    void* buffer;
    uint8_t data_type;
    size_t count;
    int peer;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
  };
};

struct Descriptor2 {
  struct Collective {
    const char* communicator_name;
    uint64_t communicator_hash;
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    size_t traffic_bytes;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct Message {
    const char* communicator_name;
    uint64_t communicator_hash;
    const char* function;
    void* buffer;
    const char* data_type;
    size_t count;
    int peer;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
  };
};

struct Descriptor3 {
  struct Collective {
    const char* communicator_name;
    uint64_t communicator_hash;
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct KernelChannel {
    uint8_t channel;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Descriptor2::Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
    NetworkEvent network;
  };
};

struct Descriptor4 {
  struct Collective {
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct Message {
    const char* function;
    void* buffer;
    const char* data_type;
    size_t count;
    int peer;
    uint8_t channels;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    TimedChannel kernel_channel;
    NetworkEvent network;
  };
};

struct Descriptor5 {
  struct CollectiveCall {
    const char* function;
    size_t count;
    const char* data_type;
    int root;
    void* stream;
    bool is_captured;
  };
  struct MessageCall {
    const char* function;
    size_t count;
    const char* data_type;
    void* stream;
    bool is_captured;
  };
  struct Collective {
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* group;
  };
  struct Message {
    const char* function;
    void* buffer;
    const char* data_type;
    size_t count;
    int peer;
    uint8_t channels;
    void* group;
  };
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    CollectiveCall collective_call;
    MessageCall message_call;
    KernelLaunch kernel_launch;
    Collective collective;
    Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    TimedChannel kernel_channel;
    NetworkEvent network;
  };
};

// Parts that came with version 6.
struct CopyCollective {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  const char* sync_strategy;
  bool has_sync_in_batch;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t copy_sequence;
  void* stream;
};
struct CopySync {
  bool is_complete;
  int ranks;
};
struct CopyBatch {
  int operations;
  size_t bytes;
  bool has_sync;
};

struct Descriptor6 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    Descriptor5::CollectiveCall collective_call;
    Descriptor5::MessageCall message_call;
    KernelLaunch kernel_launch;
    Descriptor5::Collective collective;
    Descriptor5::Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    TimedChannel kernel_channel;
    NetworkEvent network;
    CopyCollective copy_collective;
    CopySync copy_sync;
    CopyBatch copy_batch;
  };
};

struct Descriptor7 {
  struct CollectiveCall {
    const char* function;
    size_t count;
    const char* data_type;
    int root;
    void* stream;
    bool is_captured;
    uint64_t tag;
  };
  struct MessageCall {
    const char* function;
    size_t count;
    const char* data_type;
    void* stream;
    bool is_captured;
    uint64_t tag;
  };
  struct Collective {
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* group;
    const char* kernel_variant;
    bool is_symmetric;
    uint64_t tag;
  };
  struct Message {
    const char* function;
    void* buffer;
    const char* data_type;
    size_t count;
    int peer;
    uint8_t channels;
    void* group;
    uint64_t tag;
  };
  struct TaggedCopyCollective {
    uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;
    const char* sync_strategy;
    bool has_sync_in_batch;
    uint32_t batch_size;
    uint32_t batches;
    uint32_t copy_sequence;
    void* stream;
    uint64_t tag;
  };
  struct KernelPhase {
    uint8_t channel;
    uint8_t phase;  // 0 first synchronisation, 1 computation, 2 last synchronisation
    const char* phase_name;
    uint64_t device_time;
  };
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    CollectiveCall collective_call;
    MessageCall message_call;
    KernelLaunch kernel_launch;
    Collective collective;
    Message message;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    TimedChannel kernel_channel;
    NetworkEvent network;
    TaggedCopyCollective copy_collective;
    CopySync copy_sync;
    CopyBatch copy_batch;
    KernelPhase kernel_phase;
  };
};

/// What versions 1 to 3 pass with a state.
union OldStateArguments {
  struct {
    size_t bytes;
    int steps;
  } proxy_operation;
  struct {
    int appended;
  } proxy_control;
};
/// Versions 4 to 7.
union StateArguments {
  struct {
    size_t bytes;
  } proxy_step;
  struct {
    int appended;
  } proxy_control;
  struct {
    void* data;
  } network;
  struct {
    uint64_t device_time;
  } kernel_channel;  // also of a phase
};

using OldInit = Result (*)(void** context, int* mask);
using Init4 = Result (*)(void** context, int* mask, const char* name, uint64_t key, int nodes,
                         int ranks, int rank, Logger log);
using Init5 = Result (*)(void** context, uint64_t key, int* mask, const char* name, int nodes,
                         int ranks, int rank, Logger log);

/// The symbol ncclProfiler_vN.
template <class Init, class Descriptor, class Arguments>
struct Table {
  const char* name;
  Init init;
  Result (*start)(void* context, void** handle, Descriptor* descriptor);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, Arguments* arguments);
  Result (*finalize)(void* context);
};

template <int kVersion>
struct Api;
#define TS_NCCL_API(version, descriptor, arguments, init_type) \
  template <>                                                  \
  struct Api<version> {                                        \
    using Descriptor = descriptor;                             \
    using Arguments = arguments;                               \
    using Symbol = Table<init_type, descriptor, arguments>;    \
  };
TS_NCCL_API(1, Descriptor1, OldStateArguments, OldInit)
TS_NCCL_API(2, Descriptor2, OldStateArguments, OldInit)
TS_NCCL_API(3, Descriptor3, OldStateArguments, OldInit)
TS_NCCL_API(4, Descriptor4, StateArguments, Init4)
TS_NCCL_API(5, Descriptor5, StateArguments, Init5)
TS_NCCL_API(6, Descriptor6, StateArguments, Init5)
TS_NCCL_API(7, Descriptor7, StateArguments, Init5)
#undef TS_NCCL_API
constexpr int kNewestVersion = 7;

static_assert(sizeof(Descriptor1) == 120 && offsetof(Descriptor1, collective.is_nvls) == 112);
static_assert(offsetof(Descriptor1, message.peer) == 72);
static_assert(sizeof(Descriptor2) == 128 && offsetof(Descriptor2, collective.protocol) == 120);
static_assert(offsetof(Descriptor2, message.peer) == 72);
static_assert(sizeof(Descriptor3) == 120 && offsetof(Descriptor3, collective.protocol) == 112);
static_assert(sizeof(Descriptor4) == 104 && offsetof(Descriptor4, collective.protocol) == 96);
static_assert(sizeof(Descriptor5) == 112 && offsetof(Descriptor5, collective.group) == 104);
static_assert(offsetof(Descriptor5, collective_call.is_captured) == 64);
static_assert(sizeof(Descriptor6) == 112 && offsetof(Descriptor6, copy_collective.stream) == 104);
static_assert(sizeof(Descriptor7) == 136 && offsetof(Descriptor7, kernel_phase.device_time) == 40);
static_assert(sizeof(OldStateArguments) == 16 && sizeof(StateArguments) == 8);

}  // namespace tracesmith::agent::nccl
