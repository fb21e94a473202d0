// SPDX-License-Identifier: Apache-2.0
// The buffers of the stand-in for libcupti: how records get into those of each client, and the
// worker that completes and hands over what the device would have done.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "standin_cupti.hpp"

namespace standin {
namespace {

std::shared_ptr<Buffer> requestBuffer(Client& client, uint64_t thread) {
  auto buffer = std::make_shared<Buffer>();
  buffer->client = &client;
  buffer->thread = thread;
  in_buffer_callback = true;
  if (client.request_with_info != nullptr) {
    size_t info = sizeof info;  // a structure of its size alone
    client.request_with_info(&buffer->memory, &buffer->size, &buffer->most_records, &info);
  } else if (client.request != nullptr) {
    client.request(&buffer->memory, &buffer->size, &buffer->most_records);
  }
  in_buffer_callback = false;
  if (buffer->memory == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(buffer->memory) % 8 != 0) misuse("a buffer is not aligned to 8");
  if (client.attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] != 0) {
    const bool is_zeroed = buffer->size == 0 ||
                           (buffer->memory[0] == 0 &&
                            std::memcmp(buffer->memory, buffer->memory + 1, buffer->size - 1) == 0);
    if (!is_zeroed) misuse("a buffer is not zeroed, as the client said it would be");
  }
  return buffer;
}

// A buffer that records go into no more.
void retire(Client& client, uint64_t thread) {
  const auto at = client.active.find(thread);
  if (at == client.active.end()) return;
  if (at->second->used == 0) return;
  client.retired.push_back(std::move(at->second));
  client.active.erase(at);
}

bool fits(const Client& client, uint64_t thread, size_t bytes) {
  const auto at = client.active.find(thread);
  if (at == client.active.end()) return false;
  const Buffer& buffer = *at->second;
  return buffer.size - buffer.used >= bytes &&
         (buffer.most_records == 0 || buffer.records < buffer.most_records);
}

// Buffers of a thread that has ended are full, so to speak.
struct ThreadEnd {
  bool has_buffers = false;
  ~ThreadEnd() {
    State& s = state();
    if (!has_buffers || s.pid != getpid()) return;  // a forked child has no worker
    const std::lock_guard lock(s.mutex);
    for (Client& client : s.clients) retire(client, static_cast<uint64_t>(gettid()));
    s.wake.notify_one();
  }
};
thread_local ThreadEnd thread_end;

// Only what the client selected, where it did.
size_t select(const Layout& layout, const uint8_t* record, std::vector<uint8_t>* out,
              Times* times) {
  const Times whole = *times;
  *times = {};
  out->assign(layout.bytes, 0);
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const Field& field = layout.fields[i];
    std::memcpy(out->data() + layout.offsets[i], record + field.offset,
                std::min(field.size, field.wide));
    if (field.offset == whole.start) times->start = layout.offsets[i];
    if (field.offset == whole.end) times->end = layout.offsets[i];
    if (field.offset == whole.completed) times->completed = layout.offsets[i];
  }
  return layout.bytes;
}

// --- The worker

void finish(const Open& open, const ClockOffset& offset) {
  if (open.buffer->handed_over) return;
  --open.buffer->open;
  if (open.start_ns != 0) {  // else there was no room on the device to take its times
    const uint64_t start = open.start_ns + offset;
    const uint64_t end = open.end_ns + offset;
    if (open.start != nullptr) std::memcpy(open.start, &start, sizeof start);
    if (open.end != nullptr) std::memcpy(open.end, &end, sizeof end);
    if (open.completed != nullptr) std::memcpy(open.completed, &end, sizeof end);
  }
  if (open.kind != nullptr) std::memcpy(open.kind, &open.kind_value, sizeof open.kind_value);
}

void finishAll(State& s) {
  std::map<Client*, ClockOffset> offsets;
  while (!s.open.empty() && s.open.top().due_ns <= standinNow()) {
    Client* const client = s.open.top().buffer->client;
    const auto [at, is_new] = offsets.try_emplace(client);
    if (is_new) at->second = clockOffset(*client);
    finish(s.open.top(), at->second);
    s.open.pop();
  }
}

// Calls the client without the lock; the client may forget its functions meanwhile.
void handOver(Client& client, const Buffer& buffer, std::unique_lock<std::mutex>& lock) {
  const auto complete = client.complete;
  const auto complete_with_info = client.complete_with_info;
  lock.unlock();
  in_buffer_callback = true;
  if (complete_with_info != nullptr) {
    void* layouts[CUPTI_ACTIVITY_KIND_COUNT] = {};
    bool any = false;
    for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
      const Layout* layout = client.layouts[kind].load();
      if (layout == nullptr) continue;
      layouts[kind] = layout->reported;
      any = true;
    }
    if (version() < 130300) any = false;
    // As the headers of CUDA 13.2 and later have it.
    struct {
      size_t size;
      uint64_t thread;
      void** layouts;
      size_t count;
    } info{sizeof info, buffer.thread, any ? layouts : nullptr,
           any ? size_t{CUPTI_ACTIVITY_KIND_COUNT} : 0};
    complete_with_info(buffer.memory, buffer.size, buffer.used, &info);
  } else if (complete != nullptr) {
    complete(nullptr, 0, buffer.memory, buffer.size, buffer.used);
  }
  in_buffer_callback = false;
}

void handOverAll(State& s, Client& client, std::unique_lock<std::mutex>& lock, bool flushing) {
  // Those that come meanwhile wait until the next time.
  size_t left = client.retired.size();
  for (size_t i = 0; left > 0 && i < client.retired.size(); --left) {
    const std::shared_ptr<Buffer> buffer = client.retired[i];
    if (buffer->open != 0 && !(flushing && s.flush.forced)) {
      ++i;
      continue;
    }
    client.retired.erase(client.retired.begin() + static_cast<ptrdiff_t>(i));
    buffer->handed_over = true;
    handOver(client, *buffer, lock);
    if (flushing && s.exit_during_flush) _exit(0);
    lock.lock();
  }
}

void retireForFlush(const State& s, Client& client) {
  std::vector<uint64_t> threads;
  for (const auto& [thread, buffer] : client.active) {
    if (s.flush.forced || buffer->open == 0) threads.push_back(thread);
  }
  for (uint64_t thread : threads) retire(client, thread);
}

[[noreturn]] void work() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  for (;;) {
    finishAll(s);
    const uint64_t asked = s.flush.asked;
    const bool flushing = asked != s.flush.done;
    for (Client& client : s.clients) {
      if (flushing) retireForFlush(s, client);
      handOverAll(s, client, lock, flushing);
    }
    if (flushing) {
      s.flush.done = asked;
      if (asked == s.flush.asked) s.flush.forced = false;
      s.flushed.notify_all();
    }
    if (s.flush.asked != s.flush.done) continue;
    if (s.open.empty()) {
      s.wake.wait(lock);
    } else {
      const uint64_t now = standinNow();
      const uint64_t due = s.open.top().due_ns;
      if (due > now) s.wake.wait_for(lock, std::chrono::nanoseconds(due - now));
    }
  }
}

}  // namespace

void startWorker(State& s) {
  if (!s.has_worker) std::thread(work).detach();
  s.has_worker = true;
}

void store(Client& client, CUpti_ActivityKind kind, const uint8_t* record, size_t bytes,
           const Times& whole_times, const StandinWork* open) {
  State& s = state();
  Times times = whole_times;
  std::vector<uint8_t> selected;
  if (const Layout* layout = client.layouts[kind].load(); layout != nullptr) {
    bytes = select(*layout, record, &selected, &times);
    record = selected.data();
  }
  const bool own = client.attributes[kPerThreadBuffers] != 0;
  const uint64_t thread = own ? static_cast<uint64_t>(gettid()) : 0;
  if (own) thread_end.has_buffers = true;
  const std::lock_guard filling(s.filling);
  std::unique_lock lock(s.mutex);
  if (++client.records; s.drop_every != 0 && client.records % s.drop_every == 0) {
    ++client.dropped;
    return;
  }
  if (!fits(client, thread, bytes)) {
    retire(client, thread);
    if (client.active.count(thread) == 0) {
      lock.unlock();
      s.wake.notify_one();
      auto buffer = requestBuffer(client, thread);
      lock.lock();
      if (buffer != nullptr) client.active[thread] = std::move(buffer);
    }
    if (!fits(client, thread, bytes)) {
      ++client.dropped;
      return;
    }
  }
  const std::shared_ptr<Buffer> buffer = client.active[thread];
  uint8_t* const at = buffer->memory + buffer->used;
  std::memcpy(at, record, bytes);
  buffer->used += bytes;
  ++buffer->records;
  if (buffer->records == buffer->most_records) retire(client, thread);
  s.wake.notify_one();
  if (open == nullptr) return;
  ++buffer->open;
  const auto field = [at](size_t offset) { return offset != kNowhere ? at + offset : nullptr; };
  if (s.lazy_kinds) std::memset(at, 0, sizeof(CUpti_ActivityKind));
  s.open.push({open->end_ns + s.late_ns, buffer, field(times.start), field(times.end),
               field(times.completed), s.lazy_kinds ? at : nullptr, open->start_ns, open->end_ns,
               kind});
}

void forget(Client& client) {
  for (auto& enabled : client.kinds) enabled.store(false);
  for (auto& layout : client.layouts) layout.store(nullptr);
  State& s = state();
  const std::lock_guard filling(s.filling);
  const std::lock_guard lock(s.mutex);
  finishAll(s);  // what the device has done by now it has done
  for (const auto& [thread, buffer] : client.active) buffer->handed_over = true;
  for (const auto& buffer : client.retired) buffer->handed_over = true;
  client.active.clear();
  client.retired.clear();
  client.request = nullptr;
  client.complete = nullptr;
  client.request_with_info = nullptr;
  client.complete_with_info = nullptr;
  client.clock.store(nullptr);
}

CUptiResult nextRecord(const Client& client, uint8_t* buffer, size_t valid_bytes,
                       CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto bytesOf = [&client](CUpti_ActivityKind kind) {
    if (kind <= 0 || kind >= CUPTI_ACTIVITY_KIND_COUNT) return size_t{0};
    const Layout* layout = client.layouts[kind].load();
    return layout != nullptr ? layout->bytes : recordBytes(kind);
  };
  uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + bytesOf((*record)->kind);
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* const found = reinterpret_cast<CUpti_Activity*>(next);
  if (bytesOf(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

}  // namespace standin
