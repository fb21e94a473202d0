// SPDX-License-Identifier: Apache-2.0
// A clock that includes a step includes everything the step knew. So before joining two clocks, it
// is enough to check whether one includes the other's last step; a real join is rare.
#include "tracesmith/analysis/races/happens_before.hpp"

namespace tracesmith::races {

HappensBefore::HappensBefore(const Program& program, bool threads_are_one)
    : program_(program),
      one_thread_(threads_are_one),
      order_(program),
      stamps_(program.size()),
      clocks_(program.size(), 0),
      waits_left_(program.size(), 0),
      kept_by_stream_(program.size(), false),
      scratch_(forest_) {
  for (uint32_t i = 0; i < (one_thread_ ? 1 : program.threads()); ++i) {
    threads_.push_back({{newChain(), 0}, VectorClock(forest_)});
  }
  streams_.reserve(program.streams());
  for (uint32_t i = 0; i < program.streams(); ++i) {
    streams_.push_back({.known = VectorClock(forest_),
                        .all = VectorClock(forest_),
                        .start = VectorClock(forest_)});
    if (!program.outOfOrder(i)) streams_.back().head.chain = newChain();
  }
  for (StepId id = 0; id < program.size(); ++id) {
    for (const StepId wait : program.waits(id)) {
      if (wait < program.size()) ++waits_left_[wait];
    }
  }
  if (program.canStall()) thread_at_call_.assign(program.size(), 0);
}

void HappensBefore::join(VectorClock& now, StepId earlier) {
  const Stamp& stamp = stamps_[earlier];
  if (stamp.chain == kNone || now.at(stamp.chain) >= stamp.time) return;
  VectorClock other(forest_, clocks_[earlier]);
  now.join(other);
  now.advance(stamp.chain, stamp.time);
}

void HappensBefore::keep(StepId id, const VectorClock& known, bool for_stream) {
  kept_by_stream_[id] = for_stream;
  if (for_stream || waits_left_[id] > 0) clocks_[id] = forest_.retain(known.root());
}

void HappensBefore::drop(StepId id) {
  if (waits_left_[id] > 0 || kept_by_stream_[id]) return;
  forest_.release(clocks_[id]);
  clocks_[id] = 0;
}

void HappensBefore::waited(StepId earlier) {
  --waits_left_[earlier];
  drop(earlier);
}

void HappensBefore::merge(VectorClock& now, Stamp& top, const VectorClock& other, Stamp stamp) {
  if (stamp.chain == kNone || now.at(stamp.chain) >= stamp.time) return;
  if (top.chain != kNone && other.at(top.chain) >= top.time) {
    now = other;
    top = stamp;
  } else {
    now.join(other);
    top.chain = kNone;
  }
  now.advance(stamp.chain, stamp.time);
}

void HappensBefore::startInOrder(StepId id, Stream& stream, VectorClock& now) {
  const VectorClock at_call(forest_,
                            program_.canStall() ? thread_at_call_[id] : threadOf(id).known.root());
  const uint32_t thread = threadOf(id).head.chain;
  Stamp top = stream.head;
  merge(now, top, at_call, {thread, at_call.at(thread)});
  for (const StepId wait : program_.waits(id)) {
    if (wait >= program_.size() || now.at(stamps_[wait].chain) >= stamps_[wait].time) continue;
    merge(now, top, VectorClock(forest_, clocks_[wait]), stamps_[wait]);
  }
}

void HappensBefore::startOutOfOrder(StepId id, Stream& stream, VectorClock& now) {
  const VectorClock at_call(forest_,
                            program_.canStall() ? thread_at_call_[id] : threadOf(id).known.root());
  const StepId barrier = order_.streamPredecessor(id);
  if (stream.start_barrier != barrier || stream.start_thread != at_call.root()) {
    stream.start = at_call;
    if (barrier != kNone) join(stream.start, barrier);
    stream.start_barrier = barrier;
    // Held, so that the root's number is not reused while `start_thread` refers to it.
    forest_.retain(at_call.root());
    forest_.release(stream.start_thread);
    stream.start_thread = at_call.root();
  }
  now = stream.start;
  for (const StepId wait : program_.waits(id)) {
    if (wait < program_.size()) join(now, wait);
  }
}

void HappensBefore::joinAllBefore(StepId id, Stream& stream, VectorClock& now) {
  const std::vector<StepId>& steps = order_.stepsOf(program_.step(id).stream);
  const uint32_t place = order_.place(id);
  const bool goes_on = stream.all_place <= place;
  VectorClock all = goes_on ? stream.all : VectorClock(forest_);
  const uint32_t from = goes_on ? stream.all_place : 0;
  for (uint32_t i = place; i-- > from;) join(all, steps[i]);  // the last step of a chain first
  now.join(all);
  if (!goes_on) return;
  stream.all = std::move(all);
  stream.all_place = place;
  if (program_.canStall()) return;
  for (uint32_t i = from; i < place; ++i) {
    if (program_.step(steps[i]).kind == StepKind::kBarrier) continue;
    kept_by_stream_[steps[i]] = false;
    drop(steps[i]);
  }
}

uint32_t HappensBefore::freeChain(StepId id, Stream& stream, const VectorClock& now) {
  const auto is_free = [&](uint32_t chain) { return now.at(chain) >= chain_ends_[chain]; };
  for (const StepId wait : program_.waits(id)) {
    if (wait < id && program_.step(wait).stream == program_.step(id).stream &&
        isOfStream(program_.step(wait).kind) && stamps_[wait].chain != kNone &&
        is_free(stamps_[wait].chain)) {
      return stamps_[wait].chain;
    }
  }
  constexpr int kAttempts = 8;
  for (int i = 0; i < kAttempts && stream.cursor < stream.chains.size(); ++i) {
    const uint32_t chain = stream.chains[stream.cursor++];
    if (is_free(chain)) return chain;
  }
  stream.chains.push_back(newChain());
  stream.cursor = stream.chains.size();
  return stream.chains.back();
}

void HappensBefore::beginOfStream(StepId id) {
  const Step& step = program_.step(id);
  Stream& stream = streams_[step.stream];
  const bool in_order = !program_.outOfOrder(step.stream);
  VectorClock& now = in_order ? stream.known : scratch_;
  in_order ? startInOrder(id, stream, now) : startOutOfOrder(id, stream, now);
  for (const StepId wait : program_.waits(id)) {
    if (wait < program_.size()) waited(wait);
  }
  if (in_order) {
    ++stream.head.time;
    now_stamp_ = stream.head;
  } else {
    if (endsAfterAll(program_, id)) {
      joinAllBefore(id, stream, now);
      stream.cursor = 0;
    }
    const uint32_t chain = freeChain(id, stream, now);
    now_stamp_ = {chain, ++chain_ends_[chain]};
  }
  stamps_[id] = now_stamp_;
  now_ = &now;
  keep(id, now, !in_order || program_.canStall());
}

void HappensBefore::beginOfThread(StepId id) {
  const Step& step = program_.step(id);
  Thread& thread = threadOf(id);
  for (const StepId wait : program_.waits(id)) {
    if (wait < program_.size()) learn(thread, wait), waited(wait);
  }
  if (step.kind == StepKind::kHostWait && step.stream != kNone) {
    Stream& stream = streams_[step.stream];
    const uint32_t place = order_.place(id);
    if (program_.outOfOrder(step.stream)) {
      VectorClock known = thread.known;
      joinAllBefore(id, stream, known);
      stream.cursor = 0;
      if (known.root() != thread.known.root()) {
        thread.known = std::move(known);
        thread.known.advance(thread.head.chain, ++thread.head.time);
      }
    } else if (place > 0) {
      learn(thread, order_.stepsOf(step.stream)[place - 1]);
    }
  }
  if (step.kind == StepKind::kHostAccess) {
    thread.known.advance(thread.head.chain, ++thread.head.time);
  }
  stamps_[id] = now_stamp_ = thread.head;
  now_ = &thread.known;
  keep(id, thread.known, program_.canStall());
  if (step.kind == StepKind::kSetUserEvent && step.target < id) {
    const StepId event = step.target;
    if (program_.step(event).kind == StepKind::kUserEvent && stamps_[event].chain == kNone) {
      stamps_[event] = thread.head;
      keep(event, thread.known, true);
    }
  }
}

void HappensBefore::end(StepId id) {
  if (program_.canStall()) {
    forest_.release(thread_at_call_[id]);
    thread_at_call_[id] = 0;
  }
  if (program_.step(id).blocking && isOfStream(program_.step(id).kind)) learn(threadOf(id), id);
}

void HappensBefore::learn(Thread& thread, StepId ended) {
  const Stamp& stamp = stamps_[ended];
  const Step& step = program_.step(ended);
  if (isOfStream(step.kind)) streams_[step.stream].cursor = 0;
  if (stamp.chain == kNone || thread.known.at(stamp.chain) >= stamp.time) return;
  if (waits_left_[ended] > 0 || kept_by_stream_[ended]) {
    join(thread.known, ended);
  } else {
    // It is the last step of its stream; knowledge of steps without later named waits is not kept.
    thread.known.join(streams_[step.stream].known);
    thread.known.advance(stamp.chain, stamp.time);
  }
  thread.known.advance(thread.head.chain, ++thread.head.time);
}

}  // namespace tracesmith::races
