// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <string_view>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/c_api/guarded.hpp"

using namespace tracesmith;
using namespace tracesmith::c_api;

struct tracesmith_session {
  TracingSession session;
  std::mutex control;  // serialises calls that only one thread at a time may make
};

namespace {

Result<TracingConfig> configOf(const tracesmith_session_options& options) {
  TracingConfig config;
  switch (options.overflow) {
    case TRACESMITH_BLOCK:
      config.overflow = OverflowPolicy::Block;
      break;
    case TRACESMITH_DROP_NEWEST:
      config.overflow = OverflowPolicy::DropNewest;
      break;
    case TRACESMITH_DROP_OLDEST:
      config.overflow = OverflowPolicy::DropOldest;
      break;
    default:
      return fail(ErrorCode::kInvalidArgument, "there is no such overflow policy",
                  "overflow " + std::to_string(options.overflow));
  }
  if (options.output_file != nullptr) config.output_file = options.output_file;
  if (options.buffer_kib != 0) config.buffer_size_kb = static_cast<size_t>(options.buffer_kib);
  if (options.max_threads != 0) config.max_threads = options.max_threads;
  if (options.flush_interval_ms != 0) config.flush_interval_ms = options.flush_interval_ms;
  config.duration_ms = options.duration_ms;
  return config;
}

/// A thread's first emission creates its ring, which may fail for lack of memory.
template <class F>
int emitting(tracesmith_session* session, F&& f) noexcept {
  try {
    return session != nullptr && f(session->session) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

}  // namespace

tracesmith_status tracesmith_session_start(const tracesmith_session_options* options,
                                           tracesmith_session** session) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(session);
    *session = nullptr;
    TS_TRY(const tracesmith_session_options taken, take(options));
    TS_TRY(const TracingConfig config, configOf(taken));
    auto made = std::make_unique<tracesmith_session>();
    TS_CHECK_OK(made->session.start(config));
    *session = made.release();
    return {};
  });
}

tracesmith_status tracesmith_session_stop(tracesmith_session* session) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(session);
    const std::lock_guard lock(session->control);
    return session->session.stop();
  });
}

tracesmith_status tracesmith_session_flush(tracesmith_session* session) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(session);
    const std::lock_guard lock(session->control);
    return session->session.flush();
  });
}

void tracesmith_session_free(tracesmith_session* session) { delete session; }

const char* tracesmith_session_path(const tracesmith_session* session) {
  return session == nullptr ? "" : session->session.tracePath().c_str();
}

tracesmith_status tracesmith_session_export(tracesmith_session* session, const char* path) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(session);
    TS_NOT_NULL(path);
    const std::lock_guard lock(session->control);
    return session->session.exportToFile(path);
  });
}

tracesmith_status tracesmith_session_get_info(const tracesmith_session* session,
                                              tracesmith_session_info* info) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(session);
    const TracingSession::Statistics counted = session->session.getStatistics();
    tracesmith_session_info known{};
    known.running = session->session.isActive() ? 1 : 0;
    known.events = counted.events_emitted;
    known.counters = counted.counters_emitted;
    known.dropped = counted.events_dropped;
    return give(info, known);
  });
}

uint32_t tracesmith_session_intern(tracesmith_session* session, const char* text, size_t bytes) {
  uint32_t number = 0;
  guarded([&]() -> Status {
    TS_NOT_NULL(session);
    TS_NOT_NULL(text);
    number = static_cast<uint32_t>(session->session.spanName({text, bytes}));
    return {};
  });
  return number;
}

uint32_t tracesmith_session_counter_track(tracesmith_session* session, const char* name,
                                          const char* unit) {
  uint32_t number = 0;
  guarded([&]() -> Status {
    TS_NOT_NULL(session);
    TS_NOT_NULL(name);
    number = static_cast<uint32_t>(
        session->session.counterTrack(name, unit == nullptr ? std::string_view() : unit));
    return {};
  });
  return number;
}

int64_t tracesmith_session_stamp(tracesmith_session* session) {
  int64_t stamp = 0;
  emitting(session, [&](TracingSession& to) { return (stamp = to.stamp()) != 0; });
  return stamp;
}

int tracesmith_session_span(tracesmith_session* session, uint32_t name, int64_t begin,
                            int64_t end) {
  return emitting(session, [&](TracingSession& to) {
    return to.span(static_cast<SpanName>(name), begin, end);
  });
}

int tracesmith_session_marker(tracesmith_session* session, uint32_t name) {
  return emitting(session,
                  [&](TracingSession& to) { return to.marker(static_cast<SpanName>(name)); });
}

int tracesmith_session_counter(tracesmith_session* session, uint32_t track, double value) {
  return emitting(session, [&](TracingSession& to) {
    return to.counter(static_cast<CounterTrack>(track), value);
  });
}

int tracesmith_session_memory(tracesmith_session* session, uint32_t name, uint64_t address,
                              uint64_t bytes, int is_allocation) {
  return emitting(session, [&](TracingSession& to) {
    return to.memory(static_cast<SpanName>(name), address, bytes, is_allocation != 0);
  });
}

tracesmith_status tracesmith_session_get_facts(const tracesmith_session* session,
                                               tracesmith_session_info* info) {
  return tracesmith_session_get_info(session, info);
}

uint32_t tracesmith_session_name(tracesmith_session* session, const char* text, size_t bytes) {
  return tracesmith_session_intern(session, text, bytes);
}
