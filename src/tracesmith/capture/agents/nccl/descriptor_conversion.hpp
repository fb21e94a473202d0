// SPDX-License-Identifier: Apache-2.0
// Descriptors of one version of NCCL's profiler interface as those of an older one, with what the
// older one has, as NCCL converts them for plugins that have the older one only.
#pragma once

#include <string.h>

#include <iterator>
#include <type_traits>

#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace tracesmith::agent::nccl {

// Version 1 has numbers: those of NCCL 2.23.
inline constexpr const char* kFunctionNames[] = {
    "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"};
inline constexpr const char* kAlgorithmNames[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
inline constexpr const char* kProtocolNames[] = {"LL", "LL128", "SIMPLE"};
inline constexpr const char* kDataTypeNames[] = {
    "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

template <size_t kCount>
constexpr const char* nameOf(const char* const (&names)[kCount], uint8_t number) {
  return number < kCount ? names[number] : nullptr;
}
template <size_t kCount>
constexpr const char* nameOf(const char* const (&)[kCount], const char* name) {
  return name;
}
/// `otherwise`: what NCCL says of a name that has no number.
template <size_t kCount>
uint8_t numberOf(const char* const (&names)[kCount], const char* name, uint8_t otherwise) {
  for (size_t i = 0; name != nullptr && i < kCount; ++i) {
    if (strcmp(names[i], name) == 0) return static_cast<uint8_t>(i);
  }
  return otherwise;
}

template <class Descriptor, int kVersion = 1>
constexpr int versionOf() {
  if constexpr (std::is_same_v<Descriptor, typename Api<kVersion>::Descriptor>) {
    return kVersion;
  } else {
    return versionOf<Descriptor, kVersion + 1>();
  }
}
/// The last event that each version of the interface has, from version 1 on.
inline constexpr Event kLastEvents[] = {
    Event::kProxyControl, Event::kProxyControl, Event::kNetwork,    Event::kNetwork,
    Event::kKernelLaunch, Event::kCopyBatch,    Event::kKernelPhase};
static_assert(std::size(kLastEvents) == kNewestVersion);

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a field that both have, under one name
#define TS_TAKE(field) \
  if constexpr (requires { to.field = from.field; }) to.field = from.field;
#define TS_TAKE_NAME(field, names, otherwise)                \
  if constexpr (requires { to.field = from.field; }) {       \
    to.field = from.field;                                   \
  } else if constexpr (requires { to.field, from.field; }) { \
    to.field = numberOf(names, from.field, otherwise);       \
  }

/// A part of a descriptor: the fields that both versions have.
template <class From, class To>
void convertPart(const From& from, To& to) {
  if constexpr (std::is_same_v<From, To>) {
    to = from;
  } else {
    TS_TAKE(communicator_name)
    TS_TAKE(communicator_hash)
    TS_TAKE(sequence)
    TS_TAKE_NAME(function, kFunctionNames, 6)
    TS_TAKE(buffer)
    TS_TAKE(send_buffer)
    TS_TAKE(receive_buffer)
    TS_TAKE(count)
    TS_TAKE(root)
    TS_TAKE(peer)
    TS_TAKE_NAME(data_type, kDataTypeNames, 8)
    TS_TAKE(traffic_bytes)
    TS_TAKE(channels)
    TS_TAKE(warps)
    TS_TAKE_NAME(algorithm, kAlgorithmNames, 6)
    TS_TAKE_NAME(protocol, kProtocolNames, 2)
    TS_TAKE(group)
    TS_TAKE(kernel_variant)
    TS_TAKE(is_symmetric)
    TS_TAKE(tag)
    TS_TAKE(stream)
    TS_TAKE(is_captured)
    TS_TAKE(channel)
    TS_TAKE(device_time)
    TS_TAKE(sync_strategy)
    TS_TAKE(has_sync_in_batch)
    TS_TAKE(batch_size)
    TS_TAKE(batches)
    TS_TAKE(copy_sequence)
  }
}
#undef TS_TAKE
#undef TS_TAKE_NAME

#define TS_PART(event, part)           \
  case Event::event:                   \
    if constexpr (requires {           \
                    to.part;           \
                    from.part;         \
                  }) {                 \
      convertPart(from.part, to.part); \
    }                                  \
    break;

/// `to` is zero, and of the same version or an older one. `theirs`: what the receiver knows a
/// handle as. False: the older version has no such event.
template <class From, class To>
bool convertDescriptor(Event event, const From& from, To& to, void* (*theirs)(const void*)) {
  static_assert(versionOf<From>() >= versionOf<To>());
  if (event > kLastEvents[versionOf<To>() - 1]) return false;
  to.type = static_cast<decltype(to.type)>(bitOf(event));
  to.parent = theirs(from.parent);
  to.rank = from.rank;
  switch (event) {
    TS_PART(kCollective, collective)
    TS_PART(kMessage, message)
    TS_PART(kProxyOperation, proxy_operation)
    TS_PART(kProxyStep, proxy_step)
    TS_PART(kKernelChannel, kernel_channel)
    TS_PART(kNetwork, network)
    TS_PART(kGroupCall, group_call)
    TS_PART(kCollectiveCall, collective_call)
    TS_PART(kMessageCall, message_call)
    TS_PART(kKernelLaunch, kernel_launch)
    TS_PART(kCopyCollective, copy_collective)
    TS_PART(kCopySync, copy_sync)
    TS_PART(kCopyBatch, copy_batch)
    TS_PART(kKernelPhase, kernel_phase)
    default:
      break;
  }
  // Collectives and messages belong to their group before version 5, and to their call since.
  if constexpr (requires { from.collective.group; }) {
    void* const group = event == Event::kCollective ? from.collective.group
                        : event == Event::kMessage  ? from.message.group
                                                    : nullptr;
    if (event == Event::kCollective || event == Event::kMessage) {
      if constexpr (requires { to.collective.group; }) {
        (event == Event::kCollective ? to.collective.group : to.message.group) = theirs(group);
      } else {
        to.parent = theirs(group);
      }
    }
  }
  return true;
}
#undef TS_PART
// NOLINTEND(cppcoreguidelines-macro-usage)

/// The same for a state. False: the older version has no such state.
template <int kVersion>
bool convertState(int state, const StateArguments* from, typename Api<kVersion>::Arguments& to) {
  if constexpr (kVersion <= 3) {
    // 8 to 18: of steps, and of the thread's control. 0 to 7 are no longer sent.
    if (state < 8 || state > 18) return false;
    if (from != nullptr && state >= 13) to.proxy_control.appended = from->proxy_control.appended;
    return true;
  } else {
    constexpr int kLast = kVersion == 4 ? 22 : kVersion == 5 ? 24 : kVersion == 6 ? 30 : 31;
    if (state > kLast) return false;
    if (from != nullptr) to = *from;
    return true;
  }
}

}  // namespace tracesmith::agent::nccl
