// SPDX-License-Identifier: Apache-2.0
// Reference implementation of races by their definition, slow: a set of all preceding steps for
// each step, and each byte separately.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tracesmith/analysis/races/races.hpp"

namespace tracesmith::races::test {

class SlowRaces {
 public:
  explicit SlowRaces(const Program& program) : program_(program), n_(program.size()) {
    before_.assign(n_, std::vector<bool>(n_, false));
    direct_.assign(n_, {});
    for (StepId id = 0; id < n_; ++id) findDirect(id);
    order();
  }

  /// The steps in a legal order.
  const std::vector<StepId>& steps() const { return order_; }
  bool before(StepId a, StepId b) const { return before_[b][a]; }

  /// Pairs of the given or a more certain grade, by (second, first, allocation) in legal order.
  /// `all_pairs`: not only consecutive uses.
  std::vector<Race> races(Grade weakest, bool all_pairs = false, bool all_readers = false) const {
    std::vector<Race> found;
    for (size_t j = 0; j < order_.size(); ++j) {
      std::vector<Race> of_step;
      for (size_t i = 0; i < j; ++i) {
        for (uint32_t a = 0; a < kAllocations; ++a) {
          if (auto race = pair(i, j, a, weakest, all_pairs, all_readers)) of_step.push_back(*race);
        }
      }
      std::sort(of_step.begin(), of_step.end(), [](const Race& x, const Race& y) {
        return std::tie(x.first, x.allocation) < std::tie(y.first, y.allocation);
      });
      found.insert(found.end(), of_step.begin(), of_step.end());
    }
    return found;
  }

  static constexpr uint32_t kAllocations = 2;
  static constexpr uint64_t kBytes = 12;

 private:
  void findDirect(StepId id) {
    const Step& step = program_.step(id);
    auto& direct = direct_[id];
    for (const StepId wait : program_.waits(id)) direct.push_back(wait);
    for (StepId e = 0; e < id; ++e) {
      const Step& other = program_.step(e);
      // The thread: what it waited for, and its own accesses.
      const bool host_step = !isOfStream(other.kind) && other.kind != StepKind::kUserEvent;
      if (other.thread == step.thread && step.kind != StepKind::kUserEvent &&
          (host_step || other.blocking)) {
        direct.push_back(e);
      }
      if (step.stream == kNone || !isOfStream(other.kind) || other.stream != step.stream) continue;
      const bool in_order = !program_.outOfOrder(step.stream) && isOfStream(step.kind);
      const bool held = isOfStream(step.kind) && other.kind == StepKind::kBarrier;
      if (in_order || held || endsAfterAll(program_, id)) direct.push_back(e);
    }
  }

  void order() {
    std::vector<bool> done(n_, false);
    for (bool more = true; more;) {
      more = false;
      for (StepId id = 0; id < n_ && !more; ++id) {
        if (done[id] || !canHappen(id, done)) continue;
        const auto add = [&](StepId e) {
          before_[id][e] = true;
          for (StepId x = 0; x < n_; ++x) {
            if (before_[e][x]) before_[id][x] = true;
          }
        };
        for (const StepId e : direct_[id]) add(e);
        if (set_by_.count(id) != 0) add(set_by_.at(id));
        // The first one that happens ends the event, and precedes everything that waits for it.
        const Step& step = program_.step(id);
        if (step.kind == StepKind::kSetUserEvent && step.target < id &&
            program_.step(step.target).kind == StepKind::kUserEvent) {
          set_by_.try_emplace(step.target, id);
        }
        done[id] = true;
        order_.push_back(id);
        more = true;
      }
    }
  }

  bool canHappen(StepId id, const std::vector<bool>& done) const {
    if (program_.step(id).kind == StepKind::kUserEvent) {
      return set_by_.count(id) != 0;
    }
    return std::all_of(direct_[id].begin(), direct_[id].end(), [&](StepId e) { return done[e]; });
  }

  bool uses(StepId id, uint32_t allocation, uint64_t byte, bool writes, Grade level) const {
    const auto accesses = program_.accesses(id);
    return std::any_of(accesses.begin(), accesses.end(), [&](const Access& a) {
      return a.allocation == allocation && a.begin <= byte && byte < a.end &&
             a.is_write == writes && a.grade <= level;
    });
  }

  /// The conflict of a byte at a level, if no other access of that level lies between.
  std::optional<Conflict> conflict(size_t i, size_t j, uint32_t a, uint64_t byte, Grade level,
                                   bool all_pairs, bool all_readers) const {
    const StepId first = order_[i], second = order_[j];
    const auto writes = [&](StepId id) { return uses(id, a, byte, true, level); };
    const auto reads = [&](StepId id) { return uses(id, a, byte, false, level); };
    const bool first_writes = writes(first), second_writes = writes(second);
    if (!first_writes && !(second_writes && reads(first))) return {};
    if (!second_writes && !reads(second)) return {};
    for (size_t k = i + 1; k < j && !all_pairs; ++k) {
      if (writes(order_[k])) return {};
      // A later reader of the same chain replaces it.
      const Step& between = program_.step(order_[k]);
      const Step& reader = program_.step(first);
      const bool same_stream = isOfStream(between.kind) && isOfStream(reader.kind) &&
                               between.stream == reader.stream &&
                               !program_.outOfOrder(reader.stream);
      const bool same_thread = between.kind == StepKind::kHostAccess &&
                               reader.kind == StepKind::kHostAccess &&
                               between.thread == reader.thread;
      if (!first_writes && !all_readers && reads(order_[k]) && (same_stream || same_thread)) {
        return {};
      }
    }
    return !first_writes   ? Conflict::kReadWrite
           : second_writes ? Conflict::kWriteWrite
                           : Conflict::kWriteRead;
  }

  std::optional<Race> pair(size_t i, size_t j, uint32_t a, Grade weakest, bool all_pairs,
                           bool all_readers) const {
    if (before(order_[i], order_[j])) return {};
    for (int level = 0; level <= static_cast<int>(weakest); ++level) {
      Race race{.first = order_[i],
                .second = order_[j],
                .allocation = a,
                .grade = static_cast<Grade>(level),
                .conflict = Conflict::kReadWrite};
      for (uint64_t byte = 0; byte < kBytes; ++byte) {
        const auto of_byte = conflict(i, j, a, byte, race.grade, all_pairs, all_readers);
        if (!of_byte) continue;
        race.conflict = race.bytes == 0 ? *of_byte : std::min(race.conflict, *of_byte);
        if (race.bytes++ == 0) race.begin = byte;
        race.end = byte + 1;
      }
      if (race.bytes > 0) return race;
    }
    return {};
  }

  const Program& program_;
  const StepId n_;
  std::vector<std::vector<StepId>> direct_;
  std::vector<std::vector<bool>> before_;
  std::map<StepId, StepId> set_by_;
  std::vector<StepId> order_;
};

}  // namespace tracesmith::races::test
