// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tracesmith/base/huge_pages.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kFewestRepetitions = 3;
constexpr size_t kLongestNumber = 18;  // in digits: fits an int64_t

int64_t numberAt(std::string_view text, size_t at) {
  int64_t number = 0;
  for (size_t i = at; i < text.size() && i < at + kLongestNumber; ++i) {
    if (text[i] < '0' || text[i] > '9') break;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

/// True if one of its words is a usual name for steps.
bool isStepName(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"step",  "iteration", "iter",
                                                      "batch", "minibatch", "frame"};
  std::string word;
  const auto known = [&] { return std::find(kWords.begin(), kWords.end(), word) != kWords.end(); };
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (known()) return true;
    word.clear();
  }
  return known();
}

StepName partsOf(std::string_view name) {
  const size_t last = name.find_last_of(kDigits);
  if (last == std::string_view::npos) return {std::string(name), std::nullopt};
  // npos + 1: everything before is digits.
  const size_t at = name.find_last_not_of(kDigits, last) + 1;
  std::string pattern(name.substr(0, at));
  pattern.append("#").append(name.substr(last + 1));
  return {std::move(pattern), numberAt(name, at)};
}

// --- Ranges ----------------------------------------------------------------------------------

struct Member {
  int64_t begin_ns, end_ns, number;
  uint32_t row;
};

/// True if the members do not overlap, and their numbers grow if `numbered`.
bool isSequence(std::vector<Member>& members, bool numbered) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
  });
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i].begin_ns < members[i - 1].end_ns) return false;
    if (numbered && members[i].number <= members[i - 1].number) return false;
  }
  return true;
}

class RangeSteps {
 public:
  explicit RangeSteps(const Trace& trace) : trace_(trace), names_(trace.strings.size() + 1) {}

  Steps profilerSteps() const {
    Steps steps;
    constexpr int64_t kUnseen = -1;
    constexpr int64_t kNoStep = -2;
    constexpr int64_t kNoNumber = -3;
    std::vector<int64_t> numbers(trace_.strings.size() + 1, kUnseen);
    forEachRange([&](uint32_t row, size_t name) {
      int64_t& number = numbers[name];
      if (number == kUnseen) {
        const std::string_view text = trace_.text(trace_.range.name[row]);
        const bool is_step = text.starts_with(kPyTorchStep);
        const size_t digits = is_step ? text.find_first_of(kDigits) : std::string_view::npos;
        number = digits != std::string_view::npos ? numberAt(text, digits)
                 : is_step                        ? kNoNumber
                                                  : kNoStep;
      }
      if (number == kNoStep) return;
      push(steps, row, number == kNoNumber ? static_cast<int64_t>(steps.all.size()) : number);
    });
    if (steps.all.empty()) return {};
    sortByBegin(steps);
    steps.from = Steps::From::kProfilerStep;
    steps.pattern = kPyTorchStep;
    return steps;
  }

  /// Steps marked by the program, not ranges that a framework or tool recorded itself.
  Steps markedSteps() {
    std::map<std::pair<ThreadId, uint32_t>, std::vector<Member>> numbered;  // by pattern
    std::map<std::pair<ThreadId, StringId>, std::vector<Member>> repeated;
    forEachRange([&](uint32_t row, size_t id) {
      const RangeTable& ranges = trace_.range;
      if (recordedByTool(ranges.category[row])) return;
      Name& name = names_[id];
      if (!name.seen) classifyName(name, trace_.text(ranges.name[row]));
      if (!name.is_step_name) return;
      const Member member{ranges.start_ns[row],
                          endOf(ranges.start_ns[row], ranges.duration_ns[row]), name.number, row};
      repeated[{ranges.thread_id[row], ranges.name[row]}].push_back(member);
      if (name.pattern == DeviceOp::kNone) return;
      numbered[{ranges.thread_id[row], name.pattern}].push_back(member);
    });
    Steps steps;
    if (const auto found = bestOf(numbered, 2, true); !found.empty()) {
      steps.from = Steps::From::kNumberedRanges;
      steps.pattern = textOf(found[0]->first.second);
      for (const auto* sequence : found) {
        for (const Member& m : sequence->second) push(steps, m.row, m.number);
      }
    } else if (const auto same = bestOf(repeated, kFewestRepetitions, false); !same.empty()) {
      steps.from = Steps::From::kRepeatedRange;
      steps.pattern = trace_.text(same[0]->first.second);
      for (const auto* sequence : same) {
        int64_t number = 0;
        for (const Member& m : sequence->second) push(steps, m.row, number++);
      }
    }
    sortByBegin(steps);
    return steps;
  }

 private:
  /// Result of parsing a name. Cached, because names may be long and shared by many ranges.
  struct Name {
    bool seen = false;
    bool is_step_name = false;
    uint32_t pattern = DeviceOp::kNone;  ///< the text around its last number
    int64_t number = 0;                  ///< its last number
  };

  void classifyName(Name& name, std::string_view text) {
    name.seen = true;
    name.is_step_name = isStepName(text);
    if (!name.is_step_name) return;
    StepName parts = partsOf(text);
    if (!parts.number) return;
    name.number = *parts.number;
    const auto next = static_cast<uint32_t>(patterns_.size());
    name.pattern = patterns_.try_emplace(std::move(parts.pattern), next).first->second;
  }
  std::string textOf(uint32_t pattern) const {
    return std::find_if(patterns_.begin(), patterns_.end(),
                        [&](const auto& known) { return known.second == pattern; })
        ->first;
  }

  bool recordedByTool(StringId category) {
    const auto [it, fresh] = by_tool_.try_emplace(category, false);
    if (fresh) it->second = isCategoryOfTool(trace_.text(category));
    return it->second;
  }

  /// Considers sequences with more time in steps than between them. Returns the one that covers the
  /// most time, and for each other process its longest sequence of the same name.
  template <class Groups>
  std::vector<const typename Groups::value_type*> bestOf(Groups& groups, size_t fewest,
                                                         bool numbered) const {
    struct Sequence {
      const typename Groups::value_type* entry;
      double covered;
    };
    std::vector<Sequence> sequences;
    for (auto& entry : groups) {
      std::vector<Member>& members = entry.second;
      if (members.size() < fewest || !isSequence(members, numbered)) continue;
      const auto length = [](int64_t begin, int64_t end) {
        return static_cast<double>(end) - static_cast<double>(begin);
      };
      double covered = 0;
      for (const Member& m : members) covered += length(m.begin_ns, m.end_ns);
      if (covered * 2 < length(members.front().begin_ns, members.back().end_ns)) continue;
      sequences.push_back({&entry, covered});
    }
    std::stable_sort(sequences.begin(), sequences.end(),
                     [](const Sequence& a, const Sequence& b) { return a.covered > b.covered; });
    std::vector<const typename Groups::value_type*> best;
    std::set<ProcessId> processes;
    for (const Sequence& s : sequences) {
      const ProcessId process = trace_.range.process_id[s.entry->second.front().row];
      const bool same = best.empty() || s.entry->first.second == best[0]->first.second;
      if (same && processes.insert(process).second) best.push_back(s.entry);
    }
    return best;
  }

  static void sortByBegin(Steps& steps) {
    std::stable_sort(steps.all.begin(), steps.all.end(),
                     [](const Step& a, const Step& b) { return a.begin_ns < b.begin_ns; });
  }

  void push(Steps& steps, uint32_t row, int64_t number) const {
    const RangeTable& ranges = trace_.range;
    steps.all.push_back({.number = number,
                         .name = ranges.name[row],
                         .process = ranges.process_id[row],
                         .begin_ns = ranges.start_ns[row],
                         .end_ns = endOf(ranges.start_ns[row], ranges.duration_ns[row])});
  }

  template <class Visit>
  void forEachRange(const Visit& visit) const {
    const RangeTable& ranges = trace_.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.kind[i] != RangeKind::kRange || ranges.stream_id[i] != StreamId::kNone) continue;
      const auto name = static_cast<size_t>(ranges.name[i]);
      if (name <= trace_.strings.size()) visit(static_cast<uint32_t>(i), name);
    }
  }

  const Trace& trace_;
  std::vector<Name> names_;
  std::unordered_map<std::string, uint32_t> patterns_;
  std::unordered_map<StringId, bool> by_tool_;
};

// --- Kernels ---------------------------------------------------------------------------------

/// Hashes of any range of a sequence: polynomials modulo 2^61 - 1.
class RangeHash {
 public:
  void reserve(size_t values) { reserveInLargePages(sums_, values + 1); }
  void add(uint64_t value) { sums_.push_back(mod(multiply(sums_.back(), kBase) + value + 1)); }
  /// In time logarithmic in the length of the range.
  uint64_t of(size_t begin, size_t end) const {
    return mod(sums_[end] + kPrime - multiply(sums_[begin], power(end - begin)));
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  static constexpr uint64_t kBase = 0x1f3d5b79a2c4e68 % kPrime;
  static uint64_t mod(uint64_t x) {
    x = (x & kPrime) + (x >> 61);
    return x >= kPrime ? x - kPrime : x;
  }
  static uint64_t multiply(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return mod(static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61));
  }
  static uint64_t power(size_t exponent) {
    uint64_t out = 1;
    for (uint64_t square = kBase; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) out = multiply(out, square);
      square = multiply(square, square);
    }
    return out;
  }
  std::vector<uint64_t> sums_{0};
};

/// Finds steps as repetitions of kernels, on the stream with the most kernels. A kernel that occurs
/// once per step divides the stream into steps. Among the names that divide most of it into equal
/// pieces, it chooses the longest pieces, and among those the name before which the device idles
/// longest.
class KernelSteps {
 public:
  KernelSteps(const Trace& trace, const DeviceOps& ops) : trace_(trace), ops_(ops) {}

  Steps find() {
    collect();
    for (const auto& [name, positions] : positions_) consider(positions);
    return best_positions_.empty() ? Steps{} : made();
  }

 private:
  void collect() {
    std::span<const DeviceOp> most;
    size_t most_kernels = 0;
    for (const StreamOps& s : ops_.streams) {
      const auto of_stream = std::span(ops_.ops).subspan(s.begin, s.end - s.begin);
      const auto kernels = static_cast<size_t>(
          std::count_if(of_stream.begin(), of_stream.end(),
                        [](const DeviceOp& op) { return op.table == TableId::kKernel; }));
      if (kernels > most_kernels) {
        most = of_stream;
        most_kernels = kernels;
      }
    }
    reserveInLargePages(kernels_, most_kernels);
    hash_.reserve(most_kernels);
    for (const DeviceOp& op : most) {
      if (op.table != TableId::kKernel) continue;
      positions_[op.name].push_back(static_cast<uint32_t>(kernels_.size()));
      kernels_.push_back(static_cast<uint32_t>(&op - ops_.ops.data()));
      hash_.add(static_cast<uint64_t>(op.name));
    }
  }

  /// Considers the positions of a name as starts of steps.
  void consider(const std::vector<uint32_t>& positions) {
    if (positions.size() < kFewestRepetitions) return;
    struct Piece {
      size_t count = 0;
      uint32_t first = 0;
    };
    std::unordered_map<uint64_t, Piece> pieces;
    const Piece* most = nullptr;
    for (size_t i = 0; i + 1 < positions.size(); ++i) {
      Piece& piece = pieces[hash_.of(positions[i], positions[i + 1])];
      if (piece.count++ == 0) piece.first = static_cast<uint32_t>(i);
      if (most == nullptr || piece.count > most->count) most = &piece;
    }
    const size_t begin = positions[most->first];
    const size_t length = positions[most->first + 1] - begin;
    const uint64_t shape = hash_.of(begin, begin + length);
    // The remainders before the first and after the last step may be parts of another one.
    const size_t front = positions.front();
    const size_t behind = kernels_.size() - positions.back();
    const bool part_behind = behind <= length && hash_.of(positions.back(), kernels_.size()) ==
                                                     hash_.of(begin, begin + behind);
    const bool part_front =
        front <= length && hash_.of(0, front) == hash_.of(begin + length - front, begin + length);
    const size_t repeated = most->count + (part_behind && behind == length ? 1 : 0);
    const size_t covered =
        most->count * length + (part_behind ? behind : 0) + (part_front ? front : 0);
    if (repeated < kFewestRepetitions || covered * 2 < kernels_.size()) return;
    if (length < best_length_) return;
    const int64_t idle = idleBefore(positions);
    if (length == best_length_ && idle <= best_idle_) return;
    best_length_ = length;
    best_idle_ = idle;
    best_positions_.clear();
    for (size_t i = 0; i < positions.size(); ++i) {
      const bool whole = i + 1 < positions.size()
                             ? hash_.of(positions[i], positions[i + 1]) == shape
                             : part_behind && behind == length;
      if (whole) best_positions_.push_back(positions[i]);
    }
  }

  /// Median of the idle times before these kernels. Differences of times in DeviceOps cannot
  /// overflow.
  int64_t idleBefore(const std::vector<uint32_t>& positions) const {
    std::vector<int64_t> idle;
    for (const uint32_t at : positions) {
      if (at > 0) idle.push_back(kernel(at).begin_ns - kernel(at - 1).end_ns);
    }
    if (idle.empty()) return 0;
    const auto middle = idle.begin() + static_cast<std::ptrdiff_t>(idle.size() / 2);
    std::nth_element(idle.begin(), middle, idle.end());
    return *middle;
  }

  Steps made() const {
    Steps steps;
    steps.from = Steps::From::kRepeatedKernels;
    steps.pattern = fmt::format("{} kernels from {} on", best_length_,
                                trace_.text(kernel(best_positions_[0]).name));
    steps.device_times = std::any_of(kernels_.begin(), kernels_.end(), [&](uint32_t op) {
      return ops_.ops[op].launch == DeviceOp::kNone;
    });
    // One call may launch a graph of several repetitions.
    for (size_t i = 1; i < best_positions_.size(); ++i) {
      const uint32_t launch = kernel(best_positions_[i]).launch;
      if (launch == kernel(best_positions_[i - 1]).launch) steps.device_times = true;
    }
    for (const uint32_t at : best_positions_) {
      const size_t last = at + best_length_ - 1;
      const size_t next = at + best_length_;
      Step step{.number = static_cast<int64_t>(steps.all.size()),
                .made = fmt::format("repetition {}", steps.all.size() + 1),
                .process = kernel(at).process,
                .begin_ns = beginOf(steps, at)};
      // Ends at the start of the next step, if that follows directly.
      step.end_ns = next < kernels_.size() ? beginOf(steps, static_cast<uint32_t>(next))
                                           : kernel(last).end_ns;
      step.end_ns = std::max(step.end_ns, step.begin_ns);
      steps.all.push_back(std::move(step));
    }
    return steps;
  }
  const DeviceOp& kernel(size_t position) const { return ops_.ops[kernels_[position]]; }
  int64_t beginOf(const Steps& steps, uint32_t position) const {
    const DeviceOp& op = kernel(position);
    return steps.device_times ? op.begin_ns : ops_.calls.beginNs(op.launch);
  }

  const Trace& trace_;
  const DeviceOps& ops_;
  std::vector<uint32_t> kernels_;  // ops that are kernels of the stream, by start
  RangeHash hash_;
  std::map<StringId, std::vector<uint32_t>> positions_;
  size_t best_length_ = 0;
  int64_t best_idle_ = 0;
  std::vector<uint32_t> best_positions_;
};

}  // namespace

std::string Steps::basis() const {
  switch (from) {
    case From::kNowhere:
      return "no steps: the trace names none, and its kernels do not repeat";
    case From::kProfilerStep:
      return "ranges ProfilerStep of PyTorch";
    case From::kNumberedRanges:
      return fmt::format("ranges \"{}\"", pattern);
    case From::kRepeatedRange:
      return fmt::format("ranges \"{}\", numbered here", pattern);
    case From::kRepeatedKernels:
      return fmt::format("inferred: the repetition of {}", pattern);
  }
  return {};
}

bool canNameStep(std::string_view name) {
  return name.starts_with(kPyTorchStep) || isStepName(name);
}

bool isCategoryOfTool(std::string_view category) {
  constexpr std::array<std::string_view, 12> kTools = {"cpu_op",
                                                       "python_function",
                                                       "cpu_instant_event",
                                                       "Operator",
                                                       "operator",
                                                       "overhead",
                                                       "profiler overhead",
                                                       "CUDA overhead",
                                                       "OS runtime",
                                                       "MPI",
                                                       "XRay function",
                                                       "Trace"};
  return std::find(kTools.begin(), kTools.end(), category) != kTools.end();
}

std::optional<StepName> stepNameOf(std::string_view name) {
  return canNameStep(name) ? std::optional(partsOf(name)) : std::nullopt;
}

Steps stepsOf(const Trace& trace, const DeviceOps& ops) {
  RangeSteps ranges(trace);
  Steps steps = ranges.profilerSteps();
  if (steps.all.empty()) steps = ranges.markedSteps();
  if (steps.all.empty()) steps = KernelSteps(trace, ops).find();
  return steps;
}

}  // namespace tracesmith
