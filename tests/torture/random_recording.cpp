// SPDX-License-Identifier: Apache-2.0
#include "random_recording.hpp"

#include <algorithm>
#include <cmath>

namespace tracesmith::test {
namespace {

constexpr size_t kGroup = 64;

// All that is computed is a whole number below 1024 after each launch, and exact on the way: no
// compiler may leave anything else.
struct Source {
  const char* name;
  const char* text;
};
constexpr Source kSources[] = {
    {"blend", R"(
kernel void blend(global float* a, float by) {
  size_t i = get_global_id(0);
  float v = a[i] * by + (float)(i % 97);
  a[i] = v - floor(v / 1024) * 1024;
}
)"},
    {"reduce", R"(
kernel void reduce(global const float* in, global float* out, local float* scratch) {
  size_t l = get_local_id(0);
  scratch[l] = in[get_global_id(0)];
  for (size_t half_of = get_local_size(0) / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < half_of) scratch[l] += scratch[l + half_of];
  }
  if (l == 0) out[get_group_id(0)] = scratch[0] - floor(scratch[0] / 1024) * 1024;
}
)"},
    {"stencil", R"(
kernel void stencil(global const float* in, global float* out) {
  size_t i = get_global_id(0), n = get_global_size(0);
  float v = in[(i + n - 1) % n] + 2 * in[i] + 3 * in[(i + 1) % n];
  out[i] = v - floor(v / 1024) * 1024;
}
)"},
    {"turn", R"(
kernel void turn(global const float* in, global float* out) {
  size_t i = get_global_id(0);
  out[i] = in[i] < 512 ? in[i] + 511 : in[i] - 512;
}
)"},
    {"histogram", R"(
kernel void histogram(global const float* in, global float* out, global int* bins) {
  atomic_inc(&bins[(int)in[get_global_id(0)] & 63]);
  if (get_global_id(0) < 64) out[get_global_id(0)] = in[get_global_id(0)];
}
)"},
    {"groups", R"(
kernel void groups(global float* a) {
  size_t i = get_global_id(0);
  float v = a[i] + get_group_id(0) * 3 + get_num_groups(0);
  a[i] = v - floor(v / 1024) * 1024;
}
)"},
    {"count", R"(
kernel void count(global int* counters, global float* parts, int by, int part) {
  size_t i = get_global_id(0);
  atomic_add(&counters[i % 16], by);
  parts[part * get_global_size(0) + i] = by + i;
}
)"},
    {"float_atomics", R"(
void add(volatile global uint* at, float by) {
  uint old, now;
  do {
    old = *at;
    now = as_uint(as_float(old) + by);
  } while (atomic_cmpxchg(at, old, now) != old);
}
kernel void float_atomics(global const float* in, global uint* out) {
  size_t i = get_global_id(0);
  add(&out[i % 4], in[i % 1024] * 0.001f + 1.0f / (i + 1));
}
)"},
    {"ticket", R"(
kernel void ticket(global int* a) {
  size_t i = get_global_id(0);
  a[i + 1] = atomic_inc(a);
}
)"},
    {"neighbours", R"(
kernel void neighbours(global float* a, int n) {
  int i = get_global_id(0);
  for (int r = 1; r < 8; ++r) a[i] = a[i] * 3 + a[(i + r * 64) % n] * 0.5f + i;
}
)"},
    {"cells", R"(
kernel void cells(global int* a) {
  // Not a[] * 3 + i: modulo 2^32 that is the same for large parts in any order.
  int i = get_global_id(0);
  for (int r = 0; r < 50; ++r) a[r % 16] = (a[r % 16] ^ i) * 16777619 + i;
}
)"},
    {"rounding", R"(
kernel void rounding(global float* a) {
  size_t i = get_global_id(0);
  a[i] = fma(a[i], 0.1f, 0.7f);
}
)"},
};
constexpr const char* kSafe[] = {"blend", "reduce", "stencil", "turn", "histogram", "groups"};

float wrapped(float v) { return v - std::floor(v / 1024) * 1024; }

}  // namespace

const char* toString(Defect defect) {
  constexpr const char* kNames[] = {
      "none",         "float atomics", "ticket", "race between groups", "uninitialised read",
      "missing wait", "rounding"};
  return kNames[static_cast<size_t>(defect)];
}

bool RandomRecording::isCause(DivergenceCause cause) const {
  switch (defect_) {
    case Defect::kFloatAtomics:
    case Defect::kTicket:
      return cause == DivergenceCause::kAtomicOrder;
    case Defect::kRaceBetweenGroups:
      return cause == DivergenceCause::kScheduleDependent;
    case Defect::kUninitialised:
      return cause == DivergenceCause::kUninitialisedRead;
    case Defect::kMissingWait:
      return cause == DivergenceCause::kMissingSynchronisation;
    case Defect::kRounding:
      return cause == DivergenceCause::kCompilerDifference;
    case Defect::kNone:
      break;
  }
  return false;
}

RandomRecording::RandomRecording(uint64_t seed, Defect defect) : random_(seed), defect_(defect) {
  items_ = chance(50) ? 1024 : 4096;
  one_program_ = chance(50);
  snapshots_ = defect == Defect::kRounding || (defect == Defect::kNone && chance(30));
  const size_t queues = (defect == Defect::kMissingWait ? 2 : 1) + random_.below(3);
  for (size_t q = 0; q < queues; ++q) {
    const bool in_order = !chance(30);
    queues_.push_back({builder_.queue(in_order ? 0 : 1), in_order, {}});
  }
  const size_t buffers = 3 + random_.below(4);
  for (size_t b = 0; b < buffers; ++b) {
    Buffer buffer;
    for (size_t i = 0; i < items_; ++i) {
      buffer.values.push_back(static_cast<float>(random_.below(1024)));
    }
    buffer.handle = builder_.bufferWith(buffer.values);
    buffers_.push_back(std::move(buffer));
  }
  if (one_program_) {
    std::string source;
    for (const Source& s : kSources) source += s.text;
    programs_.push_back(builder_.program(source));
  }
  const size_t steps = 4 + random_.below(20);
  const size_t place = 1 + random_.below(steps - 1);
  for (size_t i = 0; i < steps; ++i) {
    if (i == place && defect != Defect::kNone) plant();
    anything();
  }
  for (size_t b = 0; b < buffers_.size() && model_holds_; ++b) {
    read(b);
  }
  if (counters_ != 0) {
    for (size_t q = 0; q < queues_.size(); ++q) finishOf(q);
    builder_.read(queues_[0].handle, counters_, counted_);
  }
}

void RandomRecording::read(size_t buffer) {
  const Buffer& b = buffers_[buffer];
  hostKnows(command(0, {buffer}, {}, -1, [&](const Waits& waits, rec::Handle) {
    if (!waits.empty()) builder_.add(rec::WaitForEvents{.events = waits});
    builder_.read(queues_[0].handle, b.handle, b.values);
  }));
}

rec::Handle RandomRecording::kernelOf(const std::string& name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return known->second;
  rec::Handle program = one_program_ ? programs_[0] : 0;
  for (const Source& s : kSources) {
    if (program == 0 && name == s.name) program = builder_.program(s.text);
  }
  return kernels_[name] = builder_.kernel(program, name);
}

int RandomRecording::command(size_t queue, const std::vector<size_t>& reads,
                             const std::vector<size_t>& writes, int not_waited,
                             const std::function<void(const Waits&, rec::Handle)>& tell) {
  Queue& q = queues_[queue];
  const auto me = static_cast<int>(commands_.size());
  Command made{queue, builder_.newHandle(), known_};
  made.before.resize(commands_.size());
  const auto comesAfter = [&](int other) {
    const auto& its = commands_[static_cast<size_t>(other)].before;
    for (size_t i = 0; i < its.size(); ++i) made.before[i] = made.before[i] || its[i];
    made.before[static_cast<size_t>(other)] = true;
  };
  std::set<int> needed;
  for (const size_t b : reads) needed.insert(buffers_[b].writer);
  for (const size_t b : writes) {
    needed.insert(buffers_[b].writer);
    needed.insert(buffers_[b].readers.begin(), buffers_[b].readers.end());
  }
  needed.erase(-1);
  needed.erase(not_waited);
  Waits waits;
  for (const int other : needed) {
    const Command& it = commands_[static_cast<size_t>(other)];
    const bool ordered =
        (static_cast<size_t>(other) < known_.size() && known_[static_cast<size_t>(other)]) ||
        (it.queue == queue && q.in_order);
    if (ordered && chance(80)) continue;
    waits.push_back(it.event);
    comesAfter(other);
  }
  if (q.in_order) {
    for (const int other : q.commands) comesAfter(other);
  }
  q.commands.push_back(me);
  for (const size_t b : reads) buffers_[b].readers.push_back(me);
  for (const size_t b : writes) {
    buffers_[b].writer = me;
    buffers_[b].readers.clear();
  }
  const rec::Handle event = made.event;
  commands_.push_back(std::move(made));
  tell(waits, event);
  return me;
}

void RandomRecording::hostKnows(int command) {
  const std::vector<bool>& before = commands_[static_cast<size_t>(command)].before;
  known_.resize(commands_.size());
  for (size_t i = 0; i < before.size(); ++i) known_[i] = known_[i] || before[i];
  known_[static_cast<size_t>(command)] = true;
}

void RandomRecording::finishOf(size_t queue) {
  builder_.add(rec::Finish{.queue = queues_[queue].handle});
  for (const int c : queues_[queue].commands) hostKnows(c);
}

void RandomRecording::snapshot(size_t buffer) {
  const std::vector<float>& values = buffers_[buffer].values;
  const rec::ContentHash hashes[] = {
      rec::hashOf({reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size()})};
  builder_.add(rec::Snapshot{.memory = buffers_[buffer].handle,
                             .after = builder_.lastSequence() + 1,
                             .content = {4 * values.size(), hashes}},
               rec::command_flags::kAddedByAgent);
}

void RandomRecording::launch(const std::string& name, size_t in, size_t out, size_t queue,
                             int not_waited) {
  const bool in_place = name == "blend" || name == "groups" || name == "rounding";
  const bool needs_group = name == "reduce" || name == "groups";
  const rec::Handle k = kernelOf(name);
  const uint64_t local = needs_group || chance(50) ? kGroup : 0;
  std::vector<float>& a = buffers_[out].values;
  const std::vector<float>& from = buffers_[in].values;
  const size_t n = items_;
  if (in_place) {
    const auto by = static_cast<float>(3 + 2 * random_.below(3));
    builder_.argument(k, 0, buffers_[out].handle);
    if (name == "blend") builder_.argument(k, 1, by);
    for (size_t i = 0; i < n; ++i) {
      if (name == "blend") a[i] = wrapped(a[i] * by + static_cast<float>(i % 97));
      if (name == "groups") a[i] = wrapped(a[i] + static_cast<float>(i / kGroup * 3 + n / kGroup));
      if (name == "rounding") {
        const float product = a[i] * 0.1f;  // rounded, where the kernel's is not
        a[i] = product + 0.7f;
      }
    }
  } else {
    builder_.argument(k, 0, buffers_[in].handle);
    builder_.argument(k, 1, buffers_[out].handle);
    if (name == "reduce") {
      builder_.add(rec::SetArgument{
          .kernel = k, .index = 2, .form = rec::ArgumentForm::kLocal, .bytes = 4 * kGroup});
      for (size_t g = 0; g < n / kGroup; ++g) {
        float sum = 0;
        for (size_t l = 0; l < kGroup; ++l) sum += from[g * kGroup + l];
        a[g] = wrapped(sum);
      }
    } else if (name == "stencil") {
      for (size_t i = 0; i < n; ++i) {
        a[i] = wrapped(from[(i + n - 1) % n] + 2 * from[i] + 3 * from[(i + 1) % n]);
      }
    } else if (name == "turn") {
      for (size_t i = 0; i < n; ++i) a[i] = from[i] < 512 ? from[i] + 511 : from[i] - 512;
    } else {  // histogram: of its own memory, so that no other launch is ordered by it
      builder_.argument(k, 2, builder_.bufferWith(std::vector<int>(64)));
      std::copy_n(from.begin(), 64, a.begin());
    }
  }
  std::vector<size_t> reads;
  if (!in_place) reads.push_back(in);
  command(queue, reads, {out}, not_waited, [&](const Waits& waits, rec::Handle event) {
    builder_.launch(queues_[queue].handle, k, n, waits, event, local);
  });
  ++launches_;
  if (snapshots_) snapshot(out);
}

/// Whole numbers that many commands add to, and a part of a buffer for each: nothing orders them,
/// and any order is as good.
void RandomRecording::count() {
  if (counters_ == 0) {
    counters_ = builder_.bufferWith(std::vector<int>(16));
    parts_ = builder_.bufferWith(std::vector<float>(kParts * kCounted));
    counted_.resize(16);
  }
  if (counts_ == kParts) return;
  const auto by = static_cast<int>(1 + random_.below(100));
  for (size_t i = 0; i < kCounted; ++i) counted_[i % 16] += by;
  const size_t queue = anyQueue();
  const rec::Handle k = kernelOf("count");
  builder_.argument(k, 0, counters_);
  builder_.argument(k, 1, parts_);
  builder_.argument(k, 2, by);
  builder_.argument(k, 3, counts_++);
  command(queue, {}, {}, -1, [&](const Waits& waits, rec::Handle event) {
    builder_.launch(queues_[queue].handle, k, kCounted, waits, event);
  });
  ++launches_;
}

void RandomRecording::anything() {
  if (no_filler_queues_.empty() && chance(10)) return count();
  size_t queue = anyQueue();
  for (int i = 0; i < 100 && no_filler_queues_.contains(queue); ++i) queue = anyQueue();
  size_t out = anyBuffer();
  while (out == hidden_buffer_) out = anyBuffer();
  size_t in = anyBuffer();
  while (in == out || in == hidden_buffer_) in = (in + 1) % buffers_.size();
  Buffer& target = buffers_[out];
  const uint64_t what = random_.below(100);
  if (what < 70) {
    launch(kSafe[random_.below(std::size(kSafe))], in, out, queue);
  } else if (what < 78) {
    target.values = buffers_[in].values;
    command(queue, {in}, {out}, -1, [&](const Waits& waits, rec::Handle event) {
      rec::Copy c{.queue = queues_[queue].handle,
                  .source = buffers_[in].handle,
                  .destination = target.handle,
                  .waits = waits,
                  .event = event};
      c.from.region[0] = c.to.region[0] = 4 * items_;
      builder_.add(c);
    });
  } else if (what < 86) {
    for (float& v : target.values) v = static_cast<float>(random_.below(1024));
    command(queue, {}, {out}, -1, [&](const Waits& waits, rec::Handle event) {
      const auto hashes = builder_.content(target.values);
      rec::Write c{.queue = queues_[queue].handle,
                   .memory = target.handle,
                   .host = 1,
                   .content = {4 * items_, hashes},
                   .waits = waits,
                   .event = event};
      c.box.region[0] = 4 * items_;
      builder_.add(c);
    });
  } else if (what < 92) {
    const auto value = static_cast<float>(random_.below(1024));
    std::fill(target.values.begin(), target.values.end(), value);
    command(queue, {}, {out}, -1, [&](const Waits& waits, rec::Handle event) {
      uint8_t pattern[4];
      std::memcpy(pattern, &value, 4);
      rec::Fill c{.queue = queues_[queue].handle,
                  .memory = target.handle,
                  .pattern = pattern,
                  .waits = waits,
                  .event = event};
      c.box.region[0] = 4 * items_;
      builder_.add(c);
    });
  } else if (may_wait_ && what < 96) {
    finishOf(queue);
  } else if (may_wait_ && model_holds_) {
    read(in);
  }
}

void RandomRecording::plantMissingWait() {
  const size_t one = anyQueue();
  size_t other = one;
  const bool same = !queues_[one].in_order && chance(30);
  while (other == one && !same) other = anyQueue();
  const size_t buffer = anyBuffer();
  launch("blend", buffer, buffer, one);
  partner_ = launches_;
  const auto not_waited = static_cast<int>(commands_.size() - 1);
  // Others between them that neither order them nor use what it wrote.
  may_wait_ = false;
  hidden_buffer_ = buffer;
  no_filler_queues_ = {one};
  const uint64_t between = random_.below(8);
  for (uint64_t i = 0; i < between; ++i) anything();
  const size_t out = (buffer + 1 + random_.below(buffers_.size() - 1)) % buffers_.size();
  launch(chance(50) ? "stencil" : "turn", buffer, out, other, not_waited);
  no_filler_queues_.clear();
  hidden_buffer_ = SIZE_MAX;
  may_wait_ = true;
  EXPECT_FALSE(commands_.back().before[static_cast<size_t>(not_waited)]);
}

void RandomRecording::plant() {
  if (defect_ == Defect::kMissingWait) {
    plantMissingWait();
  } else if (defect_ == Defect::kRounding) {
    // Of few values, as a fill leaves them, all may come out the same.
    const auto shows = [&](size_t b) {
      return std::any_of(buffers_[b].values.begin(), buffers_[b].values.end(), [](float v) {
        const float product = v * 0.1f;
        return product + 0.7f != std::fma(v, 0.1f, 0.7f);
      });
    };
    size_t out = anyBuffer();
    for (size_t i = 0; i < buffers_.size() && !shows(out); ++i) out = (out + 1) % buffers_.size();
    EXPECT_TRUE(shows(out));
    launch("rounding", out, out, anyQueue());
  } else if (defect_ == Defect::kUninitialised) {
    // A new buffer, of which some is written.
    Buffer half;
    half.handle = builder_.buffer(4 * items_);
    half.values.resize(items_);
    buffers_.push_back(std::move(half));
    const size_t in = buffers_.size() - 1;
    const size_t queue = anyQueue();
    command(queue, {}, {in}, -1, [&](const Waits& waits, rec::Handle event) {
      const uint8_t pattern[4] = {};
      rec::Fill c{.queue = queues_[queue].handle,
                  .memory = buffers_[in].handle,
                  .pattern = pattern,
                  .waits = waits,
                  .event = event};
      c.box.region[0] = 4 * random_.below(items_);
      builder_.add(c);
    });
    launch(chance(50) ? "stencil" : "turn", in, random_.below(in), anyQueue());
  } else {
    constexpr uint64_t kMany = 1 << 14;
    const bool floats = defect_ == Defect::kFloatAtomics;
    const bool race = defect_ == Defect::kRaceBetweenGroups;
    const std::string name = floats       ? "float_atomics"
                             : !race      ? "ticket"
                             : chance(50) ? "neighbours"
                                          : "cells";
    const rec::Handle k = kernelOf(name);
    const rec::Handle memory = name == "neighbours"
                                   ? builder_.bufferWith(std::vector<float>(kMany, 1.5f))
                                   : builder_.bufferWith(std::vector<int>(kMany + 1));
    const size_t in = anyBuffer();
    const size_t queue = anyQueue();
    builder_.argument(k, floats ? 1 : 0, memory);
    if (floats) builder_.argument(k, 0, buffers_[in].handle);
    if (name == "neighbours") builder_.argument(k, 1, static_cast<int>(kMany));
    const uint64_t local = chance(50) ? 16 : 0;
    command(queue, floats ? std::vector<size_t>{in} : std::vector<size_t>{}, {}, -1,
            [&](const Waits& waits, rec::Handle event) {
              builder_.launch(queues_[queue].handle, k, kMany, waits, event, local);
            });
    ++launches_;
  }
  planted_ = launches_;
  model_holds_ = defect_ == Defect::kMissingWait;
}

}  // namespace tracesmith::test
