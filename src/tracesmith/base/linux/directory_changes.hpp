// SPDX-License-Identifier: Apache-2.0
// Tells for one system call whether the entries of a directory may have changed, so that a
// directory that is watched hundreds of times a second need not be read each time.
#pragma once

#include <cstdint>

namespace tracesmith {

class DirectoryChanges {
 public:
  /// True if an entry may have been added, removed or renamed since the last call that returned
  /// true; always true the first time. Never false after a change on a file system that keeps the
  /// modification time of directories; on others a change is seen after kLongestNs.
  /// `directory` is a descriptor.
  bool mayHaveChanged(int directory);

  /// Resolution of file times: kernels before 6.13 take them from a clock that ticks 100 times a
  /// second or more often. A directory changed so recently may change again at the same time stamp.
  static constexpr int64_t kTimeStampNs = 20'000'000;
  static constexpr int64_t kLongestNs = 200'000'000;

 private:
  int64_t modified_ns_ = 0;
  int64_t read_ns_ = 0;    // monotonic; 0: never
  bool is_recent_ = true;  // the last modification was so recent that the next may have its time
};

}  // namespace tracesmith
