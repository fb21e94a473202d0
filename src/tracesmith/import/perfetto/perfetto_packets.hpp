// SPDX-License-Identifier: Apache-2.0
// The packets of a Perfetto trace one after another, those that lie packed in others included.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/damage_log.hpp"

namespace tracesmith::import {

class PerfettoPackets {
 public:
  /// A packet's bytes; false: it is enough.
  using Take = std::function<bool(std::string_view packet, uint64_t offset)>;

  explicit PerfettoPackets(ByteSource& source) : source_(source) {}

  /// Gives each packet to `take`. What cannot be read is in damage(): there is nothing in the
  /// format by which the next packet could be found behind it.
  void run(const Take& take);
  const DamageLog& damage() const { return damage_; }
  uint64_t bytes() const { return begin_of_window_ + at_; }
  /// Where the last packet ended that could be told from what follows.
  uint64_t end() const { return end_of_packets_; }

 private:
  bool need(size_t bytes);
  bool varint(uint64_t& value);
  bool skip(uint32_t wire_type);
  uint64_t rest(uint64_t offset);
  bool give(std::string_view packet, uint64_t offset, int depth);
  bool within(std::string_view packets, uint64_t offset, int depth);

  ByteSource& source_;
  const Take* take_ = nullptr;
  Buffer<uint8_t> window_;
  size_t at_ = 0;      // of what is not yet used
  size_t filled_ = 0;  // bytes that the window has
  uint64_t begin_of_window_ = 0;
  uint64_t end_of_packets_ = 0;
  bool end_ = false;
  DamageLog damage_;
};

}  // namespace tracesmith::import
