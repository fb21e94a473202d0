// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/name_set.hpp"

namespace tracesmith::sbt {

void NameSet::add(std::span<const StringId> names) {
  uint32_t number = 0;
  std::bitset<kPartBits>* part = nullptr;
  for (const StringId name : names) {
    const auto id = static_cast<uint32_t>(name);
    if (part == nullptr || id / kPartBits != number) {
      number = id / kPartBits;
      part = &parts_[number];
    }
    part->set(id % kPartBits);
  }
}

std::vector<StringId> NameSet::names() const {
  std::vector<StringId> out;
  for (const auto& [number, part] : parts_) {
    for (uint32_t bit = 0; bit < kPartBits; ++bit) {
      if (part.test(bit)) out.push_back(static_cast<StringId>(number * kPartBits + bit));
    }
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
