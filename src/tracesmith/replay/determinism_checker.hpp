// SPDX-License-Identifier: Apache-2.0
// Compares the order in which operations were replayed with the order in which they were recorded,
// and with what each depends on. What memory held is compared by ReplayEngine and, launch by
// launch, by checkDeterminism() (determinism.hpp): an order that is right is no proof of results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

/// One thread at a time.
class DeterminismChecker {
 public:
  struct Violations {
    /// Operations that came before one that precedes them in their stream, came twice, never came,
    /// or that nobody had recorded; and ids that were recorded twice.
    size_t order_violations = 0;
    /// Operations that came before one they depend on, or that depend on one that never came or
    /// that nobody had recorded.
    size_t dependency_violations = 0;
    /// Operations that began before one that they had to wait for was over, as far as times are
    /// known (StreamOperation::begin_time).
    size_t timing_violations = 0;
  };

  /// In the order in which they were recorded: each with what it depends on.
  void recordOriginal(const StreamOperation& operation);
  /// In the order in which they were replayed. One that was skipped counts as left out, not as
  /// missing, and what depends on it is not held against anyone.
  void recordReplayed(const StreamOperation& operation);

  /// False when something was violated, and when nothing was replayed: then nothing was shown.
  bool validateOrder() const;
  bool validateDependencies() const;
  bool validateTiming() const;

  /// For people: the counts, and the first violations by name.
  std::string getReport() const;
  Violations getViolations() const;
  void reset();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kMostNamed = 10;
  struct Original {
    uint64_t id = 0;
    uint64_t stream = 0;  // device and stream
    std::string name;
    std::vector<uint64_t> depends_on;
    uint32_t before = kNone;  // its predecessor in the stream, where it waits for that
    bool out_of_order = false;
  };
  struct Replayed {
    uint64_t id = 0;
    bool skipped = false;
    std::optional<Timestamp> begin;
    Timestamp end = 0;
  };
  struct Findings {
    Violations violations;
    std::vector<std::string> named;
  };

  Findings find() const;
  std::string nameOf(uint64_t id) const;

  std::vector<Original> originals_;
  std::unordered_map<uint64_t, uint32_t> original_of_id_;
  std::unordered_map<uint64_t, uint32_t> last_of_stream_;
  std::vector<uint64_t> recorded_twice_;
  std::vector<Replayed> replayed_;
};

}  // namespace tracesmith
