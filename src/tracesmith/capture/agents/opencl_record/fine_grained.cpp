// SPDX-License-Identifier: Apache-2.0
// Shared memory that the host may write without a call. No call reports such writes, so the
// recorder compares the content. A difference from the last known content is the host's, unless a
// command that may write the memory has been running since. Such a command is followed by its
// event, like a read. Once it is complete, and before the program can know that (reads.cpp), the
// content is noted as the device's.
//
// No queue is waited for: a kernel may run until the host lets it end.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace rec = tracesmith::recording;

namespace tracesmith::record {

void recordShared(const Shared& o, const Content& content, Keep keep, uint64_t after) {
  rec::Snapshot s;
  s.memory = o.pointer;
  s.is_svm = 1;
  s.after = after;
  s.content = content.payload();
  s.kept = keep == Keep::kBytes ? 1 : 0;
  const int64_t now = nowNs();
  StateLock lock;
  putLocked(s, {now, now, 0, rec::command_flags::kAddedByAgent});
  SvmState* state = g_objects.svm.find(o.pointer);
  if (state != nullptr && state->number == o.state.number) state->last = content.summary();
}

bool isShared(const void* p, uint64_t bytes) {
  const Handle at = handleOf(p);
  bool found = false;
  g_objects.svm.forEach([&](uint64_t begin, const SvmState& s) {
    found = at >= begin && at - begin < s.bytes && bytes <= s.bytes - (at - begin);
    return !found;
  });
  return found;
}

void recordHostChanges() {
  {
    StateLock lock;
    if (g_objects.svm.size() == 0) return;
  }
  const SharedAccess access;
  List<Shared> shared;
  {
    StateLock lock;
    g_objects.svm.forEach([&](uint64_t pointer, const SvmState& s) {
      return !isFineGrained(s) || s.uses != 0 || shared.add({pointer, s});
    });
  }
  for (const Shared& o : shared) {
    const Place place = stretch(objectOf<void*>(o.pointer), o.state.bytes);
    Content content;
    content.take(place, Keep::kHashes);
    if (!content.payload().known() || content.summary() == o.state.last) continue;
    content.take(place, Keep::kBytes);
    recordShared(o, content, Keep::kBytes, 0);
  }
  shared.free();
}

void SharedUse::add(Handle address) {
  StateLock lock;
  addLocked(address);
}

void SharedUse::addLocked(Handle address) {
  if (address == 0) return;
  g_objects.svm.forEach([&](uint64_t begin, SvmState& s) {
    if (address < begin || address - begin >= s.bytes) return true;
    bool again = !isFineGrained(s);
    for (const Used& used : used_) again = again || used.pointer == begin;
    if (!again && used_.add({begin, s.bytes, s.number})) ++s.uses;
    return false;
  });
}

void SharedUse::add(cl_kernel kernel) {
  StateLock lock;
  if (g_objects.svm.size() == 0) return;
  KernelState* state = g_objects.kernels.find(handleOf(kernel));
  if (state == nullptr) return;
  for (const uint64_t argument : state->arguments) {
    const MemoryState* memory = g_objects.memory.find(argument);
    addLocked(memory != nullptr ? memory->shared : argument);
  }
  for (const uint64_t pointer : state->indirect) addLocked(pointer);
}

void SharedUse::add(cl_mem memory) {
  if (!g_objects.any_over_shared.load(std::memory_order_relaxed)) return;
  StateLock lock;
  const MemoryState* state = g_objects.memory.find(handleOf(memory));
  if (state != nullptr) addLocked(state->shared);
}

void SharedUse::await(cl_command_queue queue, cl_event event) {
  for (const Used& used : used_) {
    PendingRead use;
    use.what = PendingKind::kUse;
    use.event = event;
    use.queue = handleOf(queue);
    use.place = stretch(objectOf<void*>(used.pointer), used.bytes);
    use.allocation = used.allocation;
    if (event == nullptr || !awaitRead(use)) endSharedUse(used.pointer, used.allocation);
  }
  used_.clear();
}

SharedUse::~SharedUse() {
  await(nullptr, nullptr);
  used_.free();
}

void endSharedUse(Handle pointer, uint64_t allocation) {
  const SharedAccess access;
  uint64_t bytes = 0;
  const auto alive = [&]() -> SvmState* {
    SvmState* s = g_objects.svm.find(pointer);
    return s != nullptr && s->number == allocation ? s : nullptr;
  };
  {
    StateLock lock;
    SvmState* s = alive();
    if (s == nullptr || s->uses == 0 || --s->uses != 0) return;
    bytes = s->bytes;
  }
  Content content;
  content.take(stretch(objectOf<void*>(pointer), bytes), Keep::kHashes);
  StateLock lock;
  if (SvmState* s = alive()) s->last = content.summary();
}

}  // namespace tracesmith::record
