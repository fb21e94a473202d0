// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/determinism_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tracesmith {

void DeterminismChecker::recordOriginal(const StreamOperation& operation) {
  const auto number = static_cast<uint32_t>(originals_.size());
  if (!original_of_id_.try_emplace(operation.operation_id, number).second) {
    recorded_twice_.push_back(operation.operation_id);
    return;
  }
  const uint64_t stream = uint64_t{operation.device_id} << 32 | operation.stream_id;
  const auto [last, first_of_stream] = last_of_stream_.try_emplace(stream, number);
  const bool free = first_of_stream || operation.out_of_order;
  originals_.push_back({operation.operation_id, stream, operation.event.name, operation.depends_on,
                        free ? kNone : last->second, operation.out_of_order});
  last->second = number;
}

void DeterminismChecker::recordReplayed(const StreamOperation& operation) {
  Replayed replayed{operation.operation_id, operation.skipped, operation.begin_time, 0};
  const Timestamp begin = operation.begin_time.value_or(0);
  if (__builtin_add_overflow(begin, operation.execution_time, &replayed.end)) {
    replayed.end = UINT64_MAX;
  }
  replayed_.push_back(replayed);
}

std::string DeterminismChecker::nameOf(uint64_t id) const {
  const auto it = original_of_id_.find(id);
  const bool named = it != original_of_id_.end() && !originals_[it->second].name.empty();
  return named ? fmt::format("operation {} ({})", id, originals_[it->second].name)
               : fmt::format("operation {}", id);
}

DeterminismChecker::Findings DeterminismChecker::find() const {
  Findings out;
  const auto violated = [&](size_t& count, std::string text) {
    ++count;
    if (out.named.size() < kMostNamed) out.named.push_back(std::move(text));
  };
  size_t& order = out.violations.order_violations;
  size_t& dependency = out.violations.dependency_violations;
  size_t& timing = out.violations.timing_violations;
  for (const uint64_t id : recorded_twice_) violated(order, nameOf(id) + " was recorded twice");

  // The position of each original among those replayed, and the last operation of each stream so
  // far.
  std::vector<uint32_t> place(originals_.size(), kNone);
  std::unordered_map<uint64_t, uint32_t> furthest;
  for (uint32_t i = 0; i < replayed_.size(); ++i) {
    const Replayed& replayed = replayed_[i];
    const auto it = original_of_id_.find(replayed.id);
    if (it == original_of_id_.end()) {
      violated(order, nameOf(replayed.id) + " was replayed but never recorded");
      continue;
    }
    const uint32_t number = it->second;
    if (place[number] != kNone) {
      violated(order, nameOf(replayed.id) + " was replayed twice");
      continue;
    }
    place[number] = i;
    if (replayed.skipped || originals_[number].out_of_order) continue;
    const auto [last, is_first] = furthest.try_emplace(originals_[number].stream, number);
    if (!is_first && number < last->second) {
      violated(order, fmt::format("{} was replayed after {}, which follows it in its stream",
                                  nameOf(replayed.id), nameOf(originals_[last->second].id)));
    }
    last->second = std::max(last->second, number);
  }

  for (uint32_t number = 0; number < originals_.size(); ++number) {
    const Original& original = originals_[number];
    if (place[number] == kNone) {
      violated(order, nameOf(original.id) + " was never replayed");
      continue;
    }
    const Replayed& replayed = replayed_[place[number]];
    if (replayed.skipped) continue;
    bool too_soon = false;
    const auto waitsFor = [&](uint32_t other) {
      if (place[other] == kNone || replayed_[place[other]].skipped) return;
      const Replayed& before = replayed_[place[other]];
      if (too_soon || !replayed.begin || !before.begin || *replayed.begin >= before.end) return;
      too_soon = true;
      violated(timing,
               fmt::format("{} started at {} ns, before {} ended at {} ns", nameOf(original.id),
                           *replayed.begin, nameOf(before.id), before.end));
    };
    if (original.before != kNone) waitsFor(original.before);
    bool out_of_order = false;
    for (const uint64_t id : original.depends_on) {
      const auto it = original_of_id_.find(id);
      const bool known = it != original_of_id_.end();
      if (known) waitsFor(it->second);
      const bool came = known && place[it->second] != kNone;
      const bool in_order =
          came && (replayed_[place[it->second]].skipped || place[it->second] < place[number]);
      if (in_order || out_of_order) continue;
      out_of_order = true;
      const char* what = !known  ? "was never recorded"
                         : !came ? "was never replayed"
                                 : "came later";
      violated(dependency, fmt::format("{} was replayed, but depends on {}, which {}",
                                       nameOf(original.id), nameOf(id), what));
    }
  }
  return out;
}

bool DeterminismChecker::validateOrder() const {
  return !replayed_.empty() && find().violations.order_violations == 0;
}

bool DeterminismChecker::validateDependencies() const {
  return !replayed_.empty() && find().violations.dependency_violations == 0;
}

bool DeterminismChecker::validateTiming() const {
  const bool timed = std::any_of(replayed_.begin(), replayed_.end(),
                                 [](const Replayed& r) { return r.begin.has_value(); });
  return timed && find().violations.timing_violations == 0;
}

DeterminismChecker::Violations DeterminismChecker::getViolations() const {
  return find().violations;
}

std::string DeterminismChecker::getReport() const {
  if (replayed_.empty()) {
    return fmt::format("{} operations recorded, none replayed: nothing was checked\n",
                       originals_.size());
  }
  const Findings findings = find();
  const Violations& v = findings.violations;
  std::string out = fmt::format(
      "{} operations recorded, {} replayed; violations: {} of order, {} of "
      "dependencies, {} of timing\n",
      originals_.size(), replayed_.size(), v.order_violations, v.dependency_violations,
      v.timing_violations);
  for (const std::string& text : findings.named) out += "  " + text + "\n";
  const size_t all = v.order_violations + v.dependency_violations + v.timing_violations;
  if (all > findings.named.size())
    out += fmt::format("  and {} more\n", all - findings.named.size());
  return out;
}

void DeterminismChecker::reset() { *this = DeterminismChecker(); }

}  // namespace tracesmith
