// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as the commands of a recording: plans them, with dependencies, legal orders, and
// the steps that a launch needs. An order that violates a dependency crashes. The input is a
// compact list of commands: a kind, a byte of option bits, and bytes for the fields, so that
// mutations produce complete commands. The last byte of the input selects raw bytes instead.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/order_changes.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/launch_range.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

/// Numbers become small handles and lists are short, so that commands refer to each other.
struct Filler {
  ByteView* in;
  uint64_t values[32] = {};  // elements of all lists of a command
  size_t used = 0;
  recording::ContentHash hash{1, 1};

  uint64_t next() {
    if (in->empty()) return 0;
    const uint64_t value = in->front();
    *in = in->subspan(1);
    return value;
  }
  template <class T>
  void operator()(T& field) {
    if constexpr (recording::codec::kIsNumber<T>) {
      field = static_cast<T>(next());
    } else if constexpr (std::is_same_v<T, recording::Payload>) {
      field = {next(), {}};
      if (field.bytes != 0) field.chunks = {&hash, 1};
    } else if constexpr (std::is_same_v<T, recording::Handles>) {
      const size_t count = std::min<size_t>(next() % 4, std::size(values) - used);
      field = {values + used, count};
      for (size_t i = 0; i < count; ++i) values[used++] = next();
    } else {
      // Text or raw bytes: an argument's value is often a handle.
      const size_t count = used < std::size(values) ? next() % 9 : 0;
      field = {reinterpret_cast<decltype(field.data())>(values + used), count};
      if (count != 0) values[used++] = next();
    }
  }
};

Bytes commandsOf(ByteView in) {
  Bytes out;
  uint64_t sequence = 0;
  while (in.size() >= 2) {
    const auto kind = static_cast<recording::CommandKind>(in[0] % 42);
    recording::CommandHeader header;
    header.kind = kind;
    header.flags = in[1] & 7;
    header.result = (in[1] & 8) != 0 ? -5 : 0;
    header.thread = (in[1] >> 4) & 1;
    header.sequence = sequence++;
    header.start_ns = static_cast<int64_t>(sequence) * 10;
    header.end_ns = header.start_ns + 5;
    in = in.subspan(2);
    const uint8_t none[1] = {};
    recording::withCommand(kind, ByteView(none, 0), [&](auto& command) {
      std::remove_cvref_t<decltype(command)> filled;
      Filler filler{&in};
      filled.visit(filler);
      const size_t at = out.size();
      out.resize(at + recording::encodedBytes(filled));
      recording::encode(header, filled, out.data() + at);
    });
  }
  return out;
}

/// Steps that are in no dependency cycle and wait for none.
std::vector<bool> orderable(const ReplayPlan& plan, const StepDependencies& dependencies) {
  std::vector<bool> out(plan.steps().size());
  for (bool more = true; more;) {
    more = false;
    for (StepIndex i = 0; i < out.size(); ++i) {
      const auto before = dependencies.before(i);
      const auto is_in = [&](StepIndex b) { return static_cast<bool>(out[b]); };
      if (out[i] || !std::all_of(before.begin(), before.end(), is_in)) continue;
      out[i] = more = true;
    }
  }
  return out;
}

/// Checks an order of the steps before `end` that move, or, if `all`, of all steps before it; it
/// may contain others.
void checkOrder(const ReplayPlan& plan, const StepDependencies& dependencies,
                const std::vector<StepIndex>& order, StepIndex end, bool all = false) {
  std::vector<uint32_t> place(plan.steps().size(), UINT32_MAX);
  for (uint32_t i = 0; i < order.size(); ++i) {
    if (place[order[i]] != UINT32_MAX) abort();  // twice
    place[order[i]] = i;
  }
  const std::vector<bool> in_order = orderable(plan, dependencies);
  for (StepIndex i = 0; i < plan.steps().size(); ++i) {
    const bool placed = place[i] != UINT32_MAX;
    if (i < end && (all || isMovable(plan, i)) && !placed) abort();  // lost
    if (!placed || !in_order[i]) continue;
    for (const StepIndex before : dependencies.before(i)) {
      if (place[before] >= place[i]) abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 16384) return 0;
  const ByteView in(data, size - 1);
  const auto plan =
      ReplayPlan::make(data[size - 1] % 4 == 0 ? Bytes(in.begin(), in.end()) : commandsOf(in));
  if (!plan) return 0;
  const StepDependencies dependencies = StepDependencies::of(*plan);
  const auto steps = static_cast<StepIndex>(plan->steps().size());
  checkOrder(*plan, dependencies, randomLegalOrder(*plan, dependencies, size), steps);
  checkOrder(*plan, dependencies, serialOrder(*plan, steps / 2), steps / 2, true);
  if (callOrder(*plan, steps, {0}).size() != steps) abort();
  const OrderChanges changes = orderChanges(*plan, dependencies, 4);
  for (const auto& late : changes.late) {
    checkOrder(*plan, dependencies, lateLegalOrder(*plan, dependencies, late), steps);
  }
  std::vector<bool> wanted(plan->steps().size());
  if (plan->launches() != 0) wanted[plan->launch(plan->launches())] = true;
  const std::vector<bool> needed = stepsNeeded(*plan, wanted);
  if (needed.size() != wanted.size()) abort();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] && !needed[i]) abort();
  }
  (void)launchRanges(*plan, "step 1 2");
  (void)launchRanges(*plan, "kernel .");
  for (ObjectIndex i = 1; i < plan->objects().size(); ++i) {
    (void)plan->objectName(i);
    (void)plan->contentBytes(i);
  }
  return 0;
}
