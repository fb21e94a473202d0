// SPDX-License-Identifier: Apache-2.0
// All texts of a trace, each stored once. Id 1 is the first string; StringId::kNone reads as "".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith {

class StringTable {
 public:
  StringTable() = default;
  StringTable(StringTable&& other) noexcept { swap(other); }
  StringTable& operator=(StringTable&& other) noexcept {
    StringTable taken(std::move(other));
    swap(taken);
    return *this;
  }
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);

  /// Returns the id of `text`, adding it if needed. The id of "" is kNone.
  StringId intern(std::string_view text);
  /// Appends `text` without looking for an equal string: for readers, which must preserve ids.
  StringId append(std::string_view text);
  /// The id of `text`, or kNone if the table does not have it.
  StringId find(std::string_view text) const;

  /// The text of an id; "" for an unknown id. Valid until this table is destroyed or assigned to.
  std::string_view at(StringId id) const {
    const uint32_t i = static_cast<uint32_t>(id);
    return i == 0 || i > texts_.size() ? std::string_view{} : texts_[i - 1];
  }
  size_t size() const { return texts_.size(); }

  void swap(StringTable& other) noexcept {
    chunks_.swap(other.chunks_);
    std::swap(room_, other.room_);
    std::swap(next_, other.next_);
    texts_.swap(other.texts_);
    slots_.swap(other.slots_);
    std::swap(used_, other.used_);
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = 0;  // 0: free
  };
  Slot* slotOf(std::string_view text, uint32_t hash);
  std::string_view store(std::string_view text);
  void place(std::string_view text, uint32_t hash, uint32_t id);

  std::vector<std::unique_ptr<char[]>> chunks_;  // NOLINT(modernize-avoid-c-arrays)
  size_t room_ = 0;                              // bytes left in the last chunk
  char* next_ = nullptr;
  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;  // the size is a power of two; at most half are used
  size_t used_ = 0;
};

}  // namespace tracesmith
