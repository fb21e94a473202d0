// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/tracing_session.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "tracesmith/api/session_flight.hpp"
#include "tracesmith/api/session_threads.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/capture/session/event_record.hpp"
#include "tracesmith/capture/session/session_drain.hpp"
#include "tracesmith/capture/session/session_forks.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/format/sbt_file.hpp"

namespace tracesmith {
namespace {

using session::g_parents_ring;
using session::g_parents_words;
using session::Inside;
using session::RingEntry;
using session::SessionDrain;
using session::SessionMemory;
using session::t_entries;
using session::t_facts;
using session::ThreadEntries;
using session::Writer;

constexpr uint32_t kFewestRings = 16;
constexpr int64_t kAskAgainNs = 5'000'000;  // pause of a thread that got no ring

std::atomic<uint64_t> g_last_key{0};

}  // namespace

namespace {

/// Windows of a flight recorder are saved as SAVED_BASE.trigger-N.sbt.
std::string savedBaseOf(const std::string& output) {
  constexpr std::string_view kEnding = ".sbt";
  return output.ends_with(kEnding) ? output.substr(0, output.size() - kEnding.size()) : output;
}

}  // namespace

struct TracingSession::Impl {
  TracingConfig config;
  // The state of a running session. `mutex` protects names, requests and state changes.
  mutable std::mutex mutex;
  std::condition_variable answered;
  std::shared_ptr<SessionMemory> memory;
  std::shared_ptr<SessionFlight> flight;  // of a flight recorder; outlives `drain`
  std::unique_ptr<SessionDrain> drain;    // used by the drainer thread while it runs
  std::thread thread;
  std::atomic<State> state{State::Stopped};
  uint32_t owner_pid = 0;
  // The drainer reads these without the lock, because the holder may be waiting for room in a ring.
  std::atomic<bool> stop_asked{false};
  std::atomic<uint64_t> flushes_asked{0};
  std::atomic<session::SessionHeader*> shared{nullptr};  // header of `memory`
  uint64_t flushes_done = 0;
  Status result;
  std::unordered_map<std::string, uint32_t> names;
  int memory_fd = -1;  // the trace of an InProcess session
  std::string path;
  SideOutput beside;  // with a path: keeps the existing output until this trace is finished
  bool summary_written = false;
  std::atomic<uint64_t> start_ns{0};
  std::atomic<uint64_t> stop_ns{0};

  bool mine() const { return owner_pid == static_cast<uint32_t>(getpid()); }
  Status openOutput();
  void closeOutput();
  /// Moves a trace written beside the output to its destination. Call after the thread has ended.
  void takePlace();
  void run(TracingSession& session);
  uint32_t intern(std::string_view name);
  uint32_t refuse() const;
  const Writer* writerOfThread(uint64_t key, const std::atomic<uint64_t>& running);
};

constinit thread_local TracingSession::Slot TracingSession::t_slot
    __attribute__((tls_model("initial-exec")));

// --- Forks ----------------------------------------------------------------------------------

namespace {

/// The child has its own threads, and so needs its own rings.
void forgetInChild() {
  t_facts.refused_key = 0;
  t_entries.disown();
}

}  // namespace

TracingSession::TracingSession() : impl_(std::make_unique<Impl>()) {
  g_parents_ring.control.tail = 0;
  g_parents_ring.control.head = sizeof g_parents_words;
  static const int forgets = pthread_atfork(nullptr, nullptr, forgetInChild);
  (void)forgets;
  const auto in_child = [](void* session) {
    auto& self = *static_cast<TracingSession*>(session);
    if (self.key_.load(std::memory_order_relaxed) != 0) self.key_.store(++g_last_key);
    // Otherwise the lock would outlive the parent in the child's copy of the file.
    if (auto& drain = self.impl_->drain) drain->closeInChild();
  };
  session::joinForks({&impl_->mutex, in_child, this});
}

TracingSession::~TracingSession() {
  stop();
  session::leaveForks(impl_->mutex);
  if (impl_->owner_pid != 0 && !impl_->mine()) {
    // The session's thread, and threads waiting for it, exist only in the parent. They can be
    // neither joined nor destroyed here.
    (void)impl_.release();
    return;
  }
  impl_->closeOutput();
}

// --- Start and stop -------------------------------------------------------------------------

Status TracingSession::Impl::openOutput() {
  closeOutput();
  path = config.output_file;
  if (!path.empty()) {
    TS_CHECK_OK(checkedTarget(path));
    if (config.flight_recorder_ms > 0) TS_CHECK_OK(keepDeadWindow(path, savedBaseOf(path)));
    TS_TRY(beside, openSideOutput(path));
    if (!beside.path.empty()) path = beside.path;
    return {};
  }
  memory_fd = static_cast<int>(syscall(SYS_memfd_create, "tracesmith-session", MFD_CLOEXEC));
  if (memory_fd < 0) return failErrno(errno, "cannot keep a trace in memory");
  path = "/proc/self/fd/" + std::to_string(memory_fd);
  return {};
}

void TracingSession::Impl::closeOutput() {
  if (memory_fd >= 0) close(memory_fd);
  memory_fd = -1;
  path.clear();
  beside = {};
}

void TracingSession::Impl::takePlace() {
  if (!beside.path.empty() && result) {
    Result<std::string> place = publishSideOutput(std::exchange(beside, {}), config.output_file);
    if (place) {
      path = std::move(*place);
    } else {
      result = tl::unexpected<Error>(std::move(place.error()));
    }
  }
  if (flight && result && !summary_written) {
    summary_written = true;
    if (const Status written = flight->writeSummary(path); !written) {
      result = fail(written.error().code,
                    "the trace is complete, and there is no summary of all "
                    "events: " +
                        written.error().toString());
    }
  }
}

static std::shared_ptr<SessionFlight> flightOf(const TracingConfig& config) {
  if (config.flight_recorder_ms == 0) return nullptr;
  const auto ms = static_cast<int64_t>(std::min<uint64_t>(config.flight_recorder_ms, 1ull << 40));
  return std::make_shared<SessionFlight>(ms * 1'000'000, config.slow_step_factor,
                                         config.most_saved_windows);
}

Status TracingSession::start(const TracingConfig& config) {
  Impl& s = *impl_;
  const Inside inside;
  const std::lock_guard lock(s.mutex);
  if (s.owner_pid != 0 && !s.mine()) {  // a forked child starts a session of its own
    new std::thread(std::move(s.thread));
    (void)s.drain.release();
    new std::shared_ptr<SessionFlight>(std::move(s.flight));
    s.state = State::Stopped;
  }
  if (s.thread.joinable()) {
    if (s.state != State::Stopped) {
      return fail(ErrorCode::kInvalidArgument, "the session runs already; stop() it first");
    }
    s.thread.join();  // it ended by itself
    s.takePlace();
  }
  s.state = State::Starting;
  auto refuse = [&](Error error) -> Status {
    s.state = State::Stopped;
    s.closeOutput();
    return tl::unexpected<Error>(std::move(error));
  };
  s.config = config;
  uint32_t rings = std::max(config.max_threads, 1u);
  auto memory = SessionMemory::create(rings, config.buffer_size_kb * 1024, config.overflow);
  while (!memory && rings > kFewestRings) {  // the system does not overcommit memory
    rings = std::max(rings / 2, kFewestRings);
    memory = SessionMemory::create(rings, config.buffer_size_kb * 1024, config.overflow);
  }
  if (!memory) return refuse(memory.error());
  if (config.flight_recorder_ms > 0 && config.output_file.empty()) {
    return refuse({ErrorCode::kInvalidArgument, "a flight recorder needs an output_file"});
  }
  if (Status ok = s.openOutput(); !ok) return refuse(ok.error());
  s.drain.reset();
  s.flight = flightOf(config);
  s.summary_written = false;
  auto drain = SessionDrain::create(**memory, s.path, int64_t{config.flush_interval_ms} * 1'000'000,
                                    s.flight ? s.flight->options() : FlightOptions{},
                                    savedBaseOf(config.output_file));
  if (!drain) return refuse(drain.error());
  s.shared = nullptr;
  s.memory = std::move(*memory);
  s.shared = &s.memory->header();
  s.drain = std::move(*drain);
  s.names.clear();
  s.owner_pid = static_cast<uint32_t>(getpid());
  s.stop_asked = false;
  s.flushes_asked = 0;
  s.flushes_done = 0;
  s.result = {};
  s.start_ns = getCurrentTimestamp();
  s.stop_ns = 0;
  // Set these before starting the thread, which may end the session at once and resets both.
  s.state = State::Running;
  key_.store(++g_last_key);
  auto thread = startSignalFreeThread([this] { impl_->run(*this); });
  if (!thread) {
    key_.store(0);
    return refuse(thread.error());
  }
  s.thread = std::move(*thread);
  return {};
}

void TracingSession::Impl::run(TracingSession& session) {
  t_facts.drains = true;
  const int64_t began = monotonicNs();
  const int64_t deadline =
      config.duration_ms == 0
          ? INT64_MAX
          : began + static_cast<int64_t>(std::min<uint64_t>(config.duration_ms, 1ull << 40)) *
                        1'000'000;
  uint64_t flushes_answered = 0;
  for (;;) {
    const bool stopping = stop_asked || monotonicNs() >= deadline;
    const uint64_t flushes = flushes_asked;
    Status ok;
    if (stopping) {
      state = State::Stopping;
      session.key_.store(0);
      // This tells forked children, at the latest when their ring is half full.
      memory->header().open.store(0);
      stop_ns = getCurrentTimestamp();
      ok = drain->finish();
      if (flight) flight->end(*drain);
    } else {
      drain->pass();
      if (flight) flight->serve(*drain);
      if (flushes != flushes_answered) ok = drain->flush();
    }
    if (stopping || flushes != flushes_answered || !ok) {
      flushes_answered = flushes;
      const std::lock_guard lock(mutex);
      if (!ok && result) result = ok;
      flushes_done = flushes;
      if (stopping) {
        flushes_done = UINT64_MAX;
        state = State::Stopped;
      }
    }
    answered.notify_all();
    if (stopping) return;
    memory->waitForWake(
        std::min(session::kDrainIntervalNs, std::max<int64_t>(deadline - monotonicNs(), 0)));
  }
}

Status TracingSession::stop() {
  Impl& s = *impl_;
  if (s.owner_pid == 0 || !s.mine()) return {};
  const Inside inside;
  {
    const std::lock_guard lock(s.mutex);
    if (!s.thread.joinable()) return s.result;
    s.stop_asked = true;
  }
  s.memory->wakeDrainer();
  s.thread.join();
  const std::lock_guard lock(s.mutex);
  s.takePlace();
  return s.result;
}

Status TracingSession::flush() {
  Impl& s = *impl_;
  const Inside inside;
  std::unique_lock lock(s.mutex);
  if (s.state != State::Running || !s.mine()) return s.result;
  const uint64_t mine = ++s.flushes_asked;
  s.memory->wakeDrainer();
  s.answered.wait(lock, [&] { return s.flushes_done >= mine; });
  return s.result;
}

Result<std::string> TracingSession::saveWindow(const std::string& reason) {
  Impl& s = *impl_;
  const Inside inside;
  std::shared_ptr<SessionFlight> flight;
  std::shared_ptr<SessionMemory> memory;
  {
    const std::lock_guard lock(s.mutex);
    if (s.state == State::Running && s.mine()) flight = s.flight;
    memory = s.memory;
  }
  if (flight == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "only a session that runs with flight_recorder_ms has a window to save");
  }
  return flight->save(reason, [&memory] { memory->wakeDrainer(); });
}

Status TracingSession::clear() {
  Impl& s = *impl_;
  const Inside inside;
  const std::lock_guard lock(s.mutex);
  if (s.state != State::Stopped || !s.config.output_file.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "only a stopped session that keeps its trace in memory can be cleared");
  }
  s.closeOutput();
  s.shared = nullptr;
  s.memory.reset();
  s.start_ns = s.stop_ns = 0;
  return {};
}

// --- What was recorded ----------------------------------------------------------------------

std::vector<TraceEvent> TracingSession::getEvents() {
  std::vector<TraceEvent> events;
  if (impl_->path.empty() || !flush()) return events;
  SBTReader reader(impl_->path);
  reader.readEvents(events);
  return events;
}

std::vector<CounterEvent> TracingSession::getCounters() {
  std::vector<CounterEvent> counters;
  if (impl_->path.empty() || !flush()) return counters;
  SBTReader reader(impl_->path);
  reader.readCounters(counters);
  return counters;
}

TracingSession::State TracingSession::getState() const { return impl_->state; }

TracingSession::Mode TracingSession::getMode() const {
  return impl_->config.output_file.empty() ? Mode::InProcess : Mode::File;
}

const TracingConfig& TracingSession::config() const { return impl_->config; }
const std::string& TracingSession::tracePath() const { return impl_->path; }

double TracingSession::Statistics::duration_ms() const {
  if (start_time == 0) return 0;
  const Timestamp end = stop_time == 0 ? getCurrentTimestamp() : stop_time;
  return static_cast<double>(end - start_time) / 1e6;
}

TracingSession::Statistics TracingSession::getStatistics() const {
  const Inside inside;
  const std::lock_guard lock(impl_->mutex);
  Statistics out;
  out.start_time = impl_->start_ns;
  out.stop_time = impl_->stop_ns;
  if (impl_->memory == nullptr) return out;
  const session::Totals t = session::totalsOf(*impl_->memory);
  out.counters_emitted = t.counters;
  out.events_emitted = t.emitted - std::min(t.emitted, t.counters);
  out.events_dropped = t.dropped + (impl_->drain ? impl_->drain->lostRows() : 0);
  // Records that are still in a ring of an ended session came too late.
  if (impl_->state == State::Stopped) out.events_dropped += t.waiting();
  return out;
}

size_t TracingSession::eventBufferSize() const {
  const Inside inside;
  const std::lock_guard lock(impl_->mutex);
  return impl_->memory == nullptr ? 0 : session::totalsOf(*impl_->memory).waiting();
}

size_t TracingSession::eventBufferCapacity() const {
  const Inside inside;
  const std::lock_guard lock(impl_->mutex);
  return impl_->memory == nullptr ? 0 : impl_->memory->header().ring_bytes / 24;
}

// --- Names ----------------------------------------------------------------------------------

uint32_t TracingSession::Impl::intern(std::string_view name) {
  if (t_facts.inside != 0 || t_facts.drains) return refuse();
  const Inside inside;
  const std::lock_guard lock(mutex);
  if (state != State::Running) return 0;
  auto [it, fresh] = names.try_emplace(std::string(name));
  const uint32_t number = fresh ? it->second = memory->addName(name) : it->second;
  if (number == session::kNoRoomName) names.erase(it);
  return number;
}

SpanName TracingSession::spanName(std::string_view name) {
  return static_cast<SpanName>(impl_->intern(name));
}

CounterTrack TracingSession::counterTrack(std::string_view name, std::string_view unit) {
  std::string both(name);
  both += '\0';
  both += unit;
  return static_cast<CounterTrack>(impl_->intern(both));
}

// --- Emitting -------------------------------------------------------------------------------

/// Refuses a call that interrupted one which holds the lock or creates a writer; counts the loss.
uint32_t TracingSession::Impl::refuse() const {
  if (t_facts.drains) return 0;  // the drainer's own call is not an event of the program
  if (auto* header = shared.load()) {
    header->dropped_reentrant.fetch_add(1, std::memory_order_relaxed);
  }
  return 0;
}

const Writer* TracingSession::findWriter() {
  const uint64_t key = key_.load(std::memory_order_acquire);
  if (key == 0) return nullptr;
  if (t_facts.inside != 0 || t_facts.drains) {
    impl_->refuse();
    return nullptr;
  }
  const int saved_errno = errno;
  const Inside inside;
  const Writer* writer = nullptr;
  try {
    writer = impl_->writerOfThread(key, key_);
  } catch (const std::bad_alloc&) {  // for memory that a thread needs the first time
    if (auto* header = impl_->shared.load()) ++header->dropped_without_ring;
  }
  if (writer != nullptr) {
    // A signal handler that interrupts here must find no slot rather than a wrong one.
    t_slot.key = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_slot.writer = writer;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_slot.key = key;
    t_entries.forget_slot = [] { t_slot = {}; };
  }
  errno = saved_errno;
  return writer;
}

/// nullptr if the thread has no ring; this is counted if the session is still running.
const Writer* TracingSession::Impl::writerOfThread(uint64_t key,
                                                   const std::atomic<uint64_t>& running) {
  std::shared_ptr<SessionMemory> of_session;
  {
    const std::lock_guard lock(mutex);
    if (running.load() != key) return nullptr;  // it has just ended
    of_session = memory;
  }
  session::SessionHeader& header = of_session->header();
  if (header.open.load(std::memory_order_relaxed) == 0) return nullptr;  // ended in the parent
  const auto none = [&]() -> const Writer* {
    header.dropped_without_ring.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  };
  if (t_facts.ended) return none();
  ThreadEntries& mine = t_entries;
  for (auto& entry : mine.entries) {
    if (entry->key == key) return &entry->writer;
  }
  // A thread that was refused retries from time to time, but no longer waits.
  const bool again = t_facts.refused_key == key;
  if (again && monotonicNs() - t_facts.refused_ns < kAskAgainNs) return none();
  mine.prune();
  int ring = of_session->claimRing();
  // The rings of ended threads become free when the drainer has processed them.
  const int tries = again || header.policy != OverflowPolicy::Block ? 0 : 20;
  if (ring < 0) of_session->wakeDrainer();
  for (int i = 0; ring < 0 && i < tries; ++i) {
    const timespec pause{0, 500'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    ring = of_session->claimRing();
    if (ring < 0) of_session->wakeDrainer();
  }
  if (ring < 0) {
    t_facts.refused_key = key;
    t_facts.refused_ns = monotonicNs();
    return none();
  }
  const auto index = static_cast<uint32_t>(ring);
  auto made = std::make_unique<RingEntry>();
  made->key = key;
  made->pid = static_cast<uint32_t>(getpid());
  made->ring = index;
  made->writer.memory = of_session.get();
  made->writer.ring = &of_session->ring(index);
  made->writer.words = of_session->words(index);
  made->writer.capacity = header.ring_bytes;
  made->writer.policy = header.policy;
  made->writer.use_counter = header.use_counter;
  made->memory = std::move(of_session);
  return &mine.entries.emplace_back(std::move(made))->writer;
}

void TracingSession::noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                              std::string_view reason) {
  if (t_facts.inside != 0 || t_facts.drains) return;
  const Inside inside;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->state != State::Running || !impl_->mine()) return;
  impl_->drain->noteLoss(source, emitted, dropped, reason);
}

int64_t TracingSession::stamp() {
  const Writer* w = writer();
  return w == nullptr ? 0 : w->stamp();
}

bool TracingSession::counter(CounterTrack track, double value) {
  const Writer* w = track == CounterTrack::kNone ? nullptr : writer();
  if (w == nullptr) return false;
  if (w->ring->busy == 0) ring::bump(w->ring->counters);
  return w->write<3>(session::RecordKind::kCounter, static_cast<uint32_t>(track),
                     [&](uint64_t* words) {
                       words[0] = static_cast<uint64_t>(w->stamp());
                       std::memcpy(words + 1, &value, sizeof value);
                     });
}

bool TracingSession::memory(SpanName name, uint64_t address, uint64_t bytes, bool is_allocation) {
  const Writer* w = name == SpanName::kNone ? nullptr : writer();
  if (w == nullptr) return false;
  return w->write<4>(is_allocation ? session::RecordKind::kAlloc : session::RecordKind::kFree,
                     static_cast<uint32_t>(name), [&](uint64_t* words) {
                       words[0] = static_cast<uint64_t>(w->stamp());
                       words[1] = address;
                       words[2] = bytes;
                     });
}

bool TracingSession::emit(const TraceEvent& event) {
  const Writer* w = writer();
  if (w == nullptr) return false;
  const size_t bytes = session::encodedSize(event);
  const uint64_t words = 1 + (bytes + 7) / 8;
  uint64_t on_stack[64];
  std::vector<uint64_t> on_heap;
  uint64_t* record = on_stack;
  if (words > std::size(on_stack)) {
    if (words > ring::kMaxRecordWords) {
      w->memory->header().dropped_too_large.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    on_heap.resize(words);
    record = on_heap.data();
  }
  record[0] = ring::headerWord(static_cast<uint8_t>(session::RecordKind::kEvent), words,
                               static_cast<uint32_t>(bytes));
  record[words - 1] = 0;  // pads the last word
  session::encodeEvent(event, reinterpret_cast<uint8_t*>(record + 1));
  return w->writeRecord(record, words);
}

bool TracingSession::emitCounter(std::string_view name, double value, std::string_view unit) {
  return counter(counterTrack(name, unit), value);
}

}  // namespace tracesmith
