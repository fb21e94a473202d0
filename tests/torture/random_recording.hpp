// SPDX-License-Identifier: Apache-2.0
// Programs drawn at random, told as recordings: launches of several kinds on several queues, each
// ordered with what it must be ordered with, so that every legal order gives one result, which a
// model on the host knows. One defect can be planted among them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracesmith/replay/check/determinism.hpp"
#include "tracesmith/replay/plan/random.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith::test {

enum class Defect : uint8_t {
  kNone,
  kFloatAtomics,       ///< sums floats by compare and exchange
  kTicket,             ///< hands out numbers by atomic_inc
  kRaceBetweenGroups,  ///< without atomics
  kUninitialised,
  kMissingWait,
  kRounding,  ///< hashes of the recording are of a compiler that rounds otherwise
};
constexpr Defect kDefects[] = {Defect::kFloatAtomics,      Defect::kTicket,
                               Defect::kRaceBetweenGroups, Defect::kUninitialised,
                               Defect::kMissingWait,       Defect::kRounding};
const char* toString(Defect defect);

class RandomRecording {
 public:
  RandomRecording(uint64_t seed, Defect defect);

  RecordingReader reader() { return builder_.reader(); }
  uint32_t launches() const { return launches_; }
  uint32_t planted() const { return planted_; }  ///< number of the launch that is to blame
  uint32_t partner() const { return partner_; }  ///< of a missing wait: the launch not waited for
  bool isCause(DivergenceCause cause) const;

 private:
  struct Buffer {
    rec::Handle handle = 0;
    std::vector<float> values;
    int writer = -1;           // command
    std::vector<int> readers;  // since
  };
  struct Queue {
    rec::Handle handle = 0;
    bool in_order = true;
    std::vector<int> commands;
  };
  struct Command {
    size_t queue = 0;
    rec::Handle event = 0;
    std::vector<bool> before;  // commands that are over when it begins
  };
  using Waits = std::vector<rec::Handle>;

  void anything();
  void count();
  void plant();
  void plantMissingWait();
  void launch(const std::string& kernel, size_t in, size_t out, size_t queue, int not_waited = -1);
  void finishOf(size_t queue);
  /// By the host, which waits.
  void read(size_t buffer);
  /// Adds a command that waits for what it must; `tell` records it.
  int command(size_t queue, const std::vector<size_t>& reads, const std::vector<size_t>& writes,
              int not_waited, const std::function<void(const Waits&, rec::Handle)>& tell);
  /// What the host knows to be over when `command` is.
  void hostKnows(int command);
  void snapshot(size_t buffer);
  rec::Handle kernelOf(const std::string& name);
  size_t anyBuffer() { return random_.below(buffers_.size()); }
  size_t anyQueue() { return random_.below(queues_.size()); }
  bool chance(unsigned percent) { return random_.below(100) < percent; }

  RecordingBuilder builder_;
  Random random_;
  Defect defect_;
  size_t items_ = 1024;
  std::vector<Buffer> buffers_;
  std::vector<Queue> queues_;
  std::vector<Command> commands_;
  std::vector<bool> known_;  // by the host to be over
  std::vector<rec::Handle> programs_;
  std::map<std::string, rec::Handle> kernels_;
  static constexpr int kParts = 8;
  static constexpr size_t kCounted = 256;
  rec::Handle counters_ = 0, parts_ = 0;
  std::vector<int> counted_;  // what the counters hold
  int counts_ = 0;            // launches that did
  bool one_program_ = false;
  bool snapshots_ = false;
  bool model_holds_ = true;  // until the planted launch
  std::set<size_t> no_filler_queues_;
  size_t hidden_buffer_ = SIZE_MAX;  // that nothing else may use now
  bool may_wait_ = true;
  uint32_t launches_ = 0;
  uint32_t planted_ = 0;
  uint32_t partner_ = 0;
};

}  // namespace tracesmith::test
