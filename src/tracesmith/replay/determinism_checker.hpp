// SPDX-License-Identifier: Apache-2.0
// Compares the order of replayed operations with the recorded order and with their dependencies. It
// does not compare memory: ReplayEngine does that, and checkDeterminism() (determinism.hpp) does it
// launch by launch. A correct order does not prove correct results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

/// Use from one thread at a time.
class DeterminismChecker {
 public:
  struct Violations {
    /// Operations replayed before their predecessor in the stream, replayed twice, never replayed,
    /// or not recorded; and ids recorded twice.
    size_t order_violations = 0;
    /// Operations replayed before one they depend on, or that depend on one that was never replayed
    /// or not recorded.
    size_t dependency_violations = 0;
    /// Operations that started before one they had to wait for had ended, as far as times are known
    /// (StreamOperation::begin_time).
    size_t timing_violations = 0;
  };

  /// Call in recorded order, with each operation's dependencies.
  void recordOriginal(const StreamOperation& operation);
  /// Call in replayed order. A skipped operation counts as left out, not as missing, and causes no
  /// dependency violations.
  void recordReplayed(const StreamOperation& operation);

  /// False if there was a violation, or if nothing was replayed, because then nothing was verified.
  bool validateOrder() const;
  bool validateDependencies() const;
  bool validateTiming() const;

  /// Readable text: the counts, and the first violations by name.
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
    uint32_t before = kNone;  // the predecessor in the stream, if the operation waits for it
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
