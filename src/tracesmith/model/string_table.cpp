// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/string_table.hpp"

namespace tracesmith {

StringTable::StringTable(const StringTable& other) { *this = other; }

StringTable& StringTable::operator=(const StringTable& other) {
  if (this == &other) return *this;
  storage_.clear();
  texts_.clear();
  ids_.clear();
  for (std::string_view text : other.texts_) append(text);
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  if (text.empty()) return StringId::kNone;
  if (auto it = ids_.find(text); it != ids_.end()) return it->second;
  return append(text);
}

StringId StringTable::append(std::string_view text) {
  if (text.empty()) {  // the place of a lost string: nobody looks it up, and there may be many
    texts_.emplace_back();
    return idAt<StringId>(texts_.size() - 1);
  }
  texts_.push_back(storage_.emplace_back(text));
  const StringId id = idAt<StringId>(texts_.size() - 1);
  ids_.emplace(texts_.back(), id);  // an equal string already there keeps its id
  return id;
}

StringId StringTable::find(std::string_view text) const {
  auto it = ids_.find(text);
  return it == ids_.end() ? StringId::kNone : it->second;
}

}  // namespace tracesmith
