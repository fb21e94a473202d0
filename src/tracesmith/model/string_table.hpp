// SPDX-License-Identifier: Apache-2.0
// Every text of a trace, once. Id 1 is the first string; StringId::kNone reads as "".
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith {

class StringTable {
 public:
  StringTable() = default;
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);

  /// The id of `text`, new if it is not yet there. "" is kNone.
  StringId intern(std::string_view text);
  /// Appends without looking for an equal string: for readers, which must keep ids as they are.
  StringId append(std::string_view text);
  /// The id of `text`, or kNone when it is not there.
  StringId find(std::string_view text) const;

  /// Valid as long as this table lives and is not copied over; an unknown id reads as "".
  std::string_view at(StringId id) const {
    const uint32_t i = static_cast<uint32_t>(id);
    return i == 0 || i > texts_.size() ? std::string_view{} : texts_[i - 1];
  }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> storage_;  // a deque keeps the views valid as it grows
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace tracesmith
