// SPDX-License-Identifier: Apache-2.0
// The distinct names of the kernels of a file. The index has them, so that labels of a few rows
// need not read all rows.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/model/ids.hpp"

namespace tracesmith::sbt {

class NameSet {
 public:
  void add(std::span<const StringId> names);
  /// Ascending, each once.
  std::vector<StringId> names() const;

 private:
  /// Parts, so that one huge id in a damaged file costs no more than the names that are there.
  static constexpr uint32_t kPartBits = 4096;
  std::map<uint32_t, std::bitset<kPartBits>> parts_;  // by id / kPartBits
};

/// Ascending ids as varints: each as the difference to the one before.
Bytes encodeNames(std::span<const StringId> names);
/// False if the bytes are not what encodeNames() makes.
bool decodeNames(ByteView bytes, std::vector<StringId>& out);

}  // namespace tracesmith::sbt
