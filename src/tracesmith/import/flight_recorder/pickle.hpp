// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles of plain data: None, bool, int, float, str, bytes, list, tuple, set and
// dict, in protocols 0 to 5. Nothing is executed. A pickle of any other object is refused, because
// loading such an object can run code.
//
// A pickle is a program for a machine with a stack and numbered registers (the memo). Its opcodes
// are those of Python's Lib/pickletools.py:
//
//   80 02        PROTO 2
//   7d           EMPTY_DICT
//   28           MARK
//   58 …         BINUNICODE "version"
//   58 …         BINUNICODE "2.10"
//   75           SETITEMS from MARK
//   2e           STOP
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::import {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kLargeInteger,  ///< `text` has its decimal digits
  kReal,
  kText,
  kBytes,
  kList,  ///< also a tuple or a set
  kDict,
};

/// Values refer to each other by number, because a pickle may use one in several places, even
/// within itself.
struct PickleValue {
  PickleKind kind{};
  bool is_cut = false;  ///< the pickle ended before this list or dict was complete
  int64_t integer = 0;  ///< also of kBool
  double real = 0;
  std::string_view text;
  std::vector<uint32_t> items;  ///< elements; of a dict: key, value, key, value, ...
};

class Pickle {
 public:
  /// Reads `bytes`, which must outlive the result. Error: it holds an object other than plain data,
  /// or nothing at all. If the pickle is damaged or cut, the result has what was there before.
  static Result<Pickle> read(std::string_view bytes);

  uint32_t root() const { return root_; }
  const PickleValue& at(uint32_t value) const { return values_[value]; }
  /// The value of a dict's key that is this text; nullptr if there is none.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

  /// Why reading stopped early; "" if it did not.
  const std::string& problem() const { return problem_; }
  /// Bytes that were read: up to the problem, or to the end of the pickle.
  uint64_t usedBytes() const { return used_bytes_; }

  /// Appends a value as JSON. Tuples and sets are lists, bytes are {"blob": "00ff"}, and keys are
  /// texts. Returns false if it is nested more than 64 deep, or if `json` would get longer than
  /// `most_bytes`: small pickles can hold large values, even endless ones.
  bool appendJson(uint32_t value, size_t most_bytes, std::string& json) const;

 private:
  class Reader;

  bool appendJson(uint32_t value, size_t most_bytes, int depth, std::string& json) const;

  std::vector<PickleValue> values_;
  std::deque<std::string> texts_;  // of texts that differ from the bytes in the pickle
  uint32_t root_ = 0;
  uint64_t used_bytes_ = 0;
  std::string problem_;
};

}  // namespace tracesmith::import
