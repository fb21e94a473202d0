// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_system.hpp"

namespace tracesmith {

void RecordedSystem::addDictionaries(const SystemEvents& events) {
  Trace& delta = shared_.delta;
  StringTable& strings = delta.strings;
  for (const SampledProcess& process : events.processes) processes_.push_back(process_of_(process));
  for (const SampledFrame& frame : events.frames) {
    const FrameRow row{.address = frame.address,
                       .function = strings.intern(frame.function),
                       .file = strings.intern(frame.file),
                       .line = frame.line,
                       .module = strings.intern(frame.module),
                       .module_offset = frame.module_offset,
                       .build_id = strings.intern(frame.build_id),
                       .flags = frame.flags};
    frames_.push_back(shared_.stacks.frame(row, delta));
  }
  for (const SampledPath& path : events.paths) {
    paths_.push_back(shared_.stacks.path(paths_[path.parent], frames_[path.frame - 1], delta));
  }
  for (const SystemEvents::ThreadName& name : events.names) {
    shared_.threads.thread(processes_[name.process], name.tid, name.name);
  }
}

void RecordedSystem::add(const SystemEvents& events) {
  addDictionaries(events);
  Trace& delta = shared_.delta;
  for (const SystemEvents::Sample& sample : events.samples) {
    delta.cpu_sample.push({.time_ns = sample.time_ns,
                           .process_id = processes_[sample.process],
                           .thread_id = thread(sample.process, sample.tid),
                           .call_path_id = paths_[sample.path],
                           .mode = sample.mode,
                           .cpu = sample.cpu,
                           .weight_ns = events.sample_ns});
  }
  for (const StateSpan& span : events.states) {
    delta.thread_state.push({.start_ns = span.start_ns,
                             .duration_ns = span.duration_ns,
                             .state = span.state,
                             .process_id = processes_[span.process],
                             .thread_id = thread(span.process, span.tid),
                             .cpu = span.cpu,
                             .call_path_id = paths_[span.path],
                             .instead = delta.strings.intern(span.instead)});
  }
  addWakeups(events);
  addCalls(events);
  addCounters(events);
  addSignals(events);
  samples_ += events.samples.size();
  const uint64_t others =
      events.states.size() + events.wakeups.size() + events.calls.size() + events.signals.size();
  others_ += others;
  shared_.events += events.samples.size() + others;
}

void RecordedSystem::addWakeups(const SystemEvents& events) {
  Trace& delta = shared_.delta;
  for (const SystemEvents::Wakeup& wakeup : events.wakeups) {
    const bool is_known = wakeup.waker_tid != 0;
    delta.wakeup.push(
        {.time_ns = wakeup.time_ns,
         .process_id = processes_[wakeup.process],
         .thread_id = thread(wakeup.process, wakeup.tid),
         .waker_process_id = is_known ? processes_[wakeup.waker_process] : ProcessId::kNone,
         .waker_thread_id =
             is_known ? thread(wakeup.waker_process, wakeup.waker_tid) : ThreadId::kNone,
         .waker = delta.strings.intern(wakeup.waker),
         .cpu = wakeup.cpu});
  }
}

void RecordedSystem::addCounters(const SystemEvents& events) {
  Trace& delta = shared_.delta;
  for (const SystemEvents::Track& track : events.tracks) {
    const bool has_process = track.process != SystemEvents::Track::kNoProcess;
    tracks_.push_back(shared_.counterTrack(
        {.name = delta.strings.intern(track.name),
         .unit = delta.strings.intern(track.unit),
         .process_id = has_process ? processes_[track.process] : ProcessId::kNone,
         .thread_id = track.tid == 0 ? ThreadId::kNone : thread(track.process, track.tid)}));
  }
  for (const SystemEvents::Count& count : events.counters) {
    delta.counter.push(
        {.time_ns = count.time_ns, .track_id = tracks_[count.track], .value = count.value});
  }
}

void RecordedSystem::addSignals(const SystemEvents& events) {
  Trace& delta = shared_.delta;
  for (const SystemEvents::Signal& signal : events.signals) {
    delta.range.push({.start_ns = signal.time_ns,
                      .kind = RangeKind::kInstant,
                      .name = delta.strings.intern(signal.name),
                      .category = delta.strings.intern("signal"),
                      .process_id = processes_[signal.process],
                      .thread_id = thread(signal.process, signal.tid)});
  }
}

void RecordedSystem::addCalls(const SystemEvents& events) {
  Trace& delta = shared_.delta;
  for (const SystemEvents::Call& call : events.calls) {
    delta.system_call.push({.start_ns = call.start_ns,
                            .duration_ns = call.duration_ns,
                            .name = delta.strings.intern(call.name),
                            .process_id = processes_[call.process],
                            .thread_id = thread(call.process, call.tid),
                            .result = call.result,
                            .subject = delta.strings.intern(call.subject),
                            .descriptor = call.descriptor,
                            .lock_address = call.lock_address,
                            .owner_thread_id = call.owner_tid == 0
                                                   ? ThreadId::kNone
                                                   : thread(call.process, call.owner_tid),
                            .call_path_id = paths_[call.path]});
  }
  for (const SystemEvents::CallCount& count : events.counts) {
    delta.system_call_count.push({.process_id = processes_[count.process],
                                  .name = delta.strings.intern(count.name),
                                  .calls = count.calls,
                                  .total_ns = count.total_ns});
  }
}

}  // namespace tracesmith
