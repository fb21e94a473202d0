// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/string_table.hpp"

#include <algorithm>
#include <cstring>

#include "tracesmith/base/hash.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLargestChunk = 1u << 20;
constexpr size_t kFirstSlots = 64;

uint32_t hashOf(std::string_view text) {
  return static_cast<uint32_t>(
      hash64({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
}

}  // namespace

StringTable::StringTable(const StringTable& other) { *this = other; }

StringTable& StringTable::operator=(const StringTable& other) {
  if (this == &other) return *this;
  *this = StringTable();
  texts_.reserve(other.texts_.size());
  for (std::string_view text : other.texts_) append(text);
  return *this;
}

/// Copies the text to memory that is never moved.
std::string_view StringTable::store(std::string_view text) {
  if (text.size() > room_) {
    const size_t bytes = std::max(
        text.size(), std::min(kLargestChunk, size_t{256} << std::min<size_t>(chunks_.size(), 12)));
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));  // NOLINT
    next_ = chunks_.back().get();
    room_ = bytes;
  }
  std::memcpy(next_, text.data(), text.size());
  const std::string_view kept(next_, text.size());
  next_ += text.size();
  room_ -= text.size();
  return kept;
}

/// The slot of `text`, or the free slot that it would get.
StringTable::Slot* StringTable::slotOf(std::string_view text, uint32_t hash) {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Slot& slot = slots_[i];
    if (slot.id == 0 || (slot.hash == hash && texts_[slot.id - 1] == text)) return &slot;
  }
}

/// If an equal string exists, it keeps its id.
void StringTable::place(std::string_view text, uint32_t hash, uint32_t id) {
  if ((used_ + 1) * 2 > slots_.size()) {
    std::vector<Slot> old(std::max(kFirstSlots, slots_.size() * 2));
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id == 0) continue;
      size_t i = slot.hash & mask;
      while (slots_[i].id != 0) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }
  Slot* const slot = slotOf(text, hash);
  if (slot->id != 0) return;
  *slot = {hash, id};
  ++used_;
}

StringId StringTable::intern(std::string_view text) {
  if (text.empty()) return StringId::kNone;
  const uint32_t hash = hashOf(text);
  if (!slots_.empty()) {
    if (const Slot* slot = slotOf(text, hash); slot->id != 0) return StringId{slot->id};
  }
  texts_.push_back(store(text));
  const StringId id = idAt<StringId>(texts_.size() - 1);
  place(texts_.back(), hash, static_cast<uint32_t>(id));
  return id;
}

StringId StringTable::append(std::string_view text) {
  if (text.empty()) {  // replaces a lost string: never looked up, and there may be many
    texts_.emplace_back();
    return idAt<StringId>(texts_.size() - 1);
  }
  texts_.push_back(store(text));
  const StringId id = idAt<StringId>(texts_.size() - 1);
  place(texts_.back(), hashOf(text), static_cast<uint32_t>(id));
  return id;
}

StringId StringTable::find(std::string_view text) const {
  if (slots_.empty()) return StringId::kNone;
  const uint32_t hash = hashOf(text);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask; slots_[i].id != 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && texts_[slots_[i].id - 1] == text) return StringId{slots_[i].id};
  }
  return StringId::kNone;
}

}  // namespace tracesmith
