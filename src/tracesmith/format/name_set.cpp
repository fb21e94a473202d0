// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/name_set.hpp"

#include <algorithm>

namespace tracesmith::sbt {

void NameSet::add(std::span<const StringId> names) {
  if (names.empty()) return;
  const auto largest = static_cast<size_t>(*std::max_element(names.begin(), names.end()));
  if (largest >= has_.size()) has_.resize(largest + 1, false);
  for (const StringId name : names) has_[static_cast<size_t>(name)] = true;
}

std::vector<StringId> NameSet::names() const {
  std::vector<StringId> out;
  for (size_t id = 0; id < has_.size(); ++id) {
    if (has_[id]) out.push_back(static_cast<StringId>(id));
  }
  return out;
}

Bytes encodeNames(std::span<const StringId> names) {
  Bytes out(names.size() * kMaxVarintBytes);
  uint8_t* end = out.data();
  uint64_t before = 0;
  for (const StringId name : names) {
    const auto id = static_cast<uint64_t>(name);
    end = putVarint(end, id - before);
    before = id;
  }
  out.resize(static_cast<size_t>(end - out.data()));
  return out;
}

bool decodeNames(ByteView bytes, std::vector<StringId>& out) {
  out.clear();
  ByteReader in(bytes);
  uint64_t id = 0;
  while (in.remaining() > 0) {
    const uint64_t step = in.varint();
    if (!in.ok() || (step == 0 && !out.empty()) || step > UINT32_MAX - id) return false;
    id += step;
    out.push_back(static_cast<StringId>(id));
  }
  return true;
}

}  // namespace tracesmith::sbt
