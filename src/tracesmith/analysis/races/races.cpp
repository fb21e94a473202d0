// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/races.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "tracesmith/analysis/races/access_map.hpp"
#include "tracesmith/analysis/races/happens_before.hpp"

namespace tracesmith::races {
namespace {

constexpr size_t kGrades = 3;

/// The accesses of one grade and of more certain ones.
struct Layer {
  std::vector<AccessMap> maps;  // by allocation
  ReaderLists lists;
  bool used = false;
};

/// A range of bytes that a step shares with an earlier one.
struct Hit {
  StepId first;
  uint32_t allocation;
  Grade grade;
  uint64_t begin;
  uint64_t end;
  Conflict conflict;
};

class Finder {
 public:
  Finder(const Program& program, const RaceOptions& options,
         const std::function<void(const Race&)>& found)
      : program_(program),
        weakest_(options.weakest),
        found_(found),
        order_(program, options.threads_are_one) {
    uint32_t allocations = 0;
    for (StepId id = 0; id < program.size(); ++id) {
      for (const Access& access : program.accesses(id)) {
        allocations = std::max(allocations, access.allocation + 1);
        layers_[static_cast<size_t>(access.grade)].used = true;
      }
    }
    for (size_t level = 0; level <= static_cast<size_t>(weakest_); ++level) {
      if (layers_[level].used) layers_[level].maps.resize(allocations);
    }
  }

  RaceCounts run() {
    counts_.stalled = order_.forEach([&](StepId id) { visit(id); });
    return counts_;
  }

 private:
  void visit(StepId id) {
    hits_.clear();
    for (const bool writes : {true, false}) {
      for (const Access& access : program_.accesses(id)) {
        if (access.is_write == writes && access.begin < access.end) use(id, access);
      }
    }
    if (!hits_.empty()) report(id);
  }

  void use(StepId id, const Access& access) {
    const Use use{id, access.grade};
    for (auto level = static_cast<size_t>(access.grade); level <= static_cast<size_t>(weakest_);
         ++level) {
      Layer& layer = layers_[level];
      if (!layer.used) continue;
      const auto grade = static_cast<Grade>(level);
      const auto conflict = [&](Use earlier, bool wrote, uint64_t begin, uint64_t end) {
        // Pairs with a more certain grade belong to an earlier layer.
        if (std::max(earlier.grade, access.grade) != grade || order_.before(earlier.step)) return;
        hits_.push_back({earlier.step, access.allocation, grade, begin, end,
                         !wrote            ? Conflict::kReadWrite
                         : access.is_write ? Conflict::kWriteWrite
                                           : Conflict::kWriteRead});
      };
      AccessMap& map = layer.maps[access.allocation];
      if (access.is_write) {
        map.write(access.begin, access.end, use, layer.lists, conflict);
      } else {
        map.read(access.begin, access.end, use, order_.chainOf(id), layer.lists, conflict);
      }
    }
  }

  void report(StepId id) {
    std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
      return std::tie(a.first, a.allocation, a.grade, a.begin, a.end) <
             std::tie(b.first, b.allocation, b.grade, b.begin, b.end);
    });
    for (size_t i = 0; i < hits_.size();) {
      const Hit& head = hits_[i];
      Race race{.first = head.first,
                .second = id,
                .allocation = head.allocation,
                .grade = head.grade,
                .conflict = head.conflict,
                .begin = head.begin,
                .end = head.begin};
      for (; i < hits_.size() && hits_[i].first == race.first &&
             hits_[i].allocation == race.allocation;
           ++i) {
        if (hits_[i].grade != race.grade) continue;  // keep only the most certain ones
        race.conflict = std::min(race.conflict, hits_[i].conflict);
        if (hits_[i].end <= race.end) continue;
        race.bytes += hits_[i].end - std::max(hits_[i].begin, race.end);
        race.end = hits_[i].end;
      }
      ++counts_.races;
      found_(race);
    }
  }

  const Program& program_;
  const Grade weakest_;
  const std::function<void(const Race&)>& found_;
  HappensBefore order_;
  Layer layers_[kGrades];
  std::vector<Hit> hits_;
  RaceCounts counts_;
};

/// A composite key.
struct Key {
  uint64_t a = 0;
  uint64_t b = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = (key.a ^ (key.a >> 31)) * 0x9E3779B97F4A7C15u + key.b;
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u;
    return static_cast<size_t>(h ^ (h >> 32));
  }
};

}  // namespace

std::string_view toString(Conflict conflict) {
  switch (conflict) {
    case Conflict::kWriteWrite:
      return "write-write";
    case Conflict::kWriteRead:
      return "write-read";
    case Conflict::kReadWrite:
      return "read-write";
  }
  return "";
}

std::string_view toString(Grade grade) {
  switch (grade) {
    case Grade::kProven:
      return "proven";
    case Grade::kLikely:
      return "likely";
    case Grade::kPossible:
      return "possible";
  }
  return "";
}

RaceCounts forEachRace(const Program& program, const RaceOptions& options,
                       const std::function<void(const Race&)>& found) {
  return Finder(program, options, found).run();
}

RaceReport findRaces(const Program& program, Grade weakest) {
  // Pairs that race even if threads take turns.
  std::unordered_set<Key, KeyHash> definite;
  const bool threads = program.threads() > 1;
  const auto pairOf = [](const Race& race) {
    return Key{uint64_t{race.first} << 32 | race.second, race.allocation};
  };
  if (threads) {
    forEachRace(program, {weakest, true}, [&](const Race& race) { definite.insert(pairOf(race)); });
  }
  RaceReport report;
  std::unordered_map<Key, size_t, KeyHash> groups;
  const auto add = [&](Race race) {
    if (threads && !definite.contains(pairOf(race))) {
      if (weakest < Grade::kPossible) return;
      race.across_threads = true;
      race.grade = Grade::kPossible;
    }
    ++report.races;
    // A step without a label forms its own group.
    const auto label = [&](StepId id) {
      const uint32_t of = program.step(id).label;
      return of == kNone ? ~id : of;
    };
    const auto [it, is_new] =
        groups.try_emplace(Key{uint64_t{label(race.first)} << 32 | label(race.second),
                               uint64_t{race.allocation} << 2 | static_cast<uint64_t>(race.grade)},
                           report.groups.size());
    if (is_new) {
      report.groups.push_back({race});
      return;
    }
    RaceGroup& group = report.groups[it->second];
    ++group.count;
    group.same_bytes &= race.begin == group.race.begin && race.end == group.race.end;
  };
  report.stalled = forEachRace(program, {weakest, false}, add).stalled;
  std::stable_sort(
      report.groups.begin(), report.groups.end(),
      [](const RaceGroup& a, const RaceGroup& b) { return a.race.grade < b.race.grade; });
  return report;
}

}  // namespace tracesmith::races
