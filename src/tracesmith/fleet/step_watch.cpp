// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/step_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
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

StepWatch::Sequence& StepWatch::sequenceOf(const RangeTable& ranges, size_t row, const Name& name) {
  const std::pair key(ranges.thread_id[row], name.pattern);
  if (const auto known = sequences_.find(key); known != sequences_.end()) return known->second;
  if (sequences_.size() >= kMostSequences) {  // threads come and go
    sequences_.erase(std::min_element(
        sequences_.begin(), sequences_.end(),
        [](const auto& a, const auto& b) { return a.second.last_end_ns < b.second.last_end_ns; }));
  }
  Sequence& made = sequences_[key];
  made.process = ranges.process_id[row];
  made.is_pytorch = name.is_pytorch;
  made.is_numbered = name.is_numbered;
  made.first_ns = made.last_end_ns = ranges.start_ns[row];
  return made;
}

std::string StepWatch::add(const Trace& rows) {
  const RangeTable& ranges = rows.range;
  std::string slow;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.kind[i] != RangeKind::kRange || ranges.stream_id[i] != StreamId::kNone) continue;
    const Name& name = nameOf(rows, ranges.name[i]);
    if (!name.is_step) continue;
    if (!name.is_pytorch && isCategoryOfTool(rows.text(ranges.category[i]))) continue;
    Sequence& steps = sequenceOf(ranges, i, name);
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
    steps.overlaps = steps.overlaps || ranges.start_ns[i] < steps.last_end_ns;
    steps.last_end_ns = std::max(steps.last_end_ns, endOf(ranges.start_ns[i], length));
    steps.all.add(length);
    steps.total_ns += length;
    ++steps.count;
    steps.recent.push_back(length);
    if (steps.recent.size() > kMostRecent) steps.recent.pop_front();
  }
  return slow;
}

bool StepWatch::Sequence::isOfSteps() const {
  const uint64_t fewest = is_numbered ? kFewestNumbered : kFewestRepeated;
  return count >= fewest && !overlaps && total_ns >= (last_end_ns - first_ns) / 2;
}

ValueSums StepWatch::steps() const {
  ValueSums out;
  for (const auto& [key, steps] : sequences_) {
    if (steps.is_pytorch) out.add(steps.all.sums());
  }
  if (out.count > 0) return out;
  std::vector<Sequences::const_pointer> found;
  for (const auto& entry : sequences_) {
    if (entry.second.isOfSteps()) found.push_back(&entry);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->second.is_numbered, a->second.total_ns) >
           std::tuple(b->second.is_numbered, b->second.total_ns);
  });
  std::set<ProcessId> processes;
  for (const auto* entry : found) {
    const bool is_same = entry->first.second == found[0]->first.second;
    if (is_same && processes.insert(entry->second.process).second) {
      out.add(entry->second.all.sums());
    }
  }
  return out;
}

}  // namespace tracesmith
