// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/step_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "tracesmith/analysis/timing/steps.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMostRecent = 101;          // steps that the median is of
constexpr size_t kMostSequences = 1000;      // steps of more threads and names are not followed
constexpr size_t kMostStepNames = 1u << 16;  // remembered; others are parsed again
constexpr uint64_t kFewestNumbered = 2;      // as stepsOf()
constexpr uint64_t kFewestRepeated = 3;

int64_t medianOf(const std::deque<int64_t>& values) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::string milliseconds(int64_t ns) {
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

const StepWatch::Name& StepWatch::nameOf(const Trace& rows, StringId id) {
  if (names_.size() >= kMostStepNames) names_.clear();
  const auto [known, is_new] = names_.try_emplace(id);
  if (!is_new) return known->second;
  const std::string_view text = rows.text(id);
  if (auto name = stepNameOf(text)) {
    const bool is_pytorch = text.starts_with(kPyTorchStep);
    known->second = {true, name->number.has_value(), is_pytorch, std::move(name->pattern)};
  }
  return known->second;
}

std::string StepWatch::add(const Trace& rows) {
  const RangeTable& ranges = rows.range;
  std::string slow;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.kind[i] != RangeKind::kRange || ranges.stream_id[i] != StreamId::kNone) continue;
    const Name& name = nameOf(rows, ranges.name[i]);
    if (!name.is_step) continue;
    const std::pair key(ranges.thread_id[i], name.pattern);
    auto known = sequences_.find(key);
    if (known == sequences_.end()) {
      if (sequences_.size() >= kMostSequences) continue;
      known = sequences_.try_emplace(key).first;
      known->second.is_pytorch = name.is_pytorch;
      known->second.is_numbered = name.is_numbered;
    }
    Sequence& steps = known->second;
    const int64_t length = std::max<int64_t>(ranges.duration_ns[i], 0);
    if (factor_ > 0 && slow.empty() && steps.recent.size() >= kFewestBefore) {
      const int64_t median = medianOf(steps.recent);
      if (static_cast<double>(length) > factor_ * static_cast<double>(median)) {
        slow = fmt::format("{} took {}, {:.3g} times the median of {}", rows.text(ranges.name[i]),
                           milliseconds(length),
                           static_cast<double>(length) / std::max(1.0, static_cast<double>(median)),
                           milliseconds(median));
      }
    }
    steps.all.add(length);
    steps.total_ns += length;
    ++steps.count;
    steps.recent.push_back(length);
    if (steps.recent.size() > kMostRecent) steps.recent.pop_front();
  }
  return slow;
}

ValueSums StepWatch::steps() const {
  const Sequence* best = nullptr;
  for (const auto& [key, steps] : sequences_) {
    const uint64_t fewest = steps.is_pytorch    ? 1
                            : steps.is_numbered ? kFewestNumbered
                                                : kFewestRepeated;
    if (steps.count < fewest) continue;
    const auto rank = [](const Sequence& s) {
      return std::tuple(s.is_pytorch, s.is_numbered, s.total_ns);
    };
    if (best == nullptr || rank(steps) > rank(*best)) best = &steps;
  }
  return best == nullptr ? ValueSums{} : best->all.sums();
}

}  // namespace tracesmith
