// SPDX-License-Identifier: Apache-2.0
// Reads the packets of a Perfetto trace one by one, including those in compressed packets.
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
  /// Called with the bytes of a packet; return false to stop.
  using Take = std::function<bool(std::string_view packet, uint64_t offset)>;

  explicit PerfettoPackets(ByteSource& source) : source_(source) {}

  /// Passes each packet to `take`. Unreadable bytes are listed in damage(). Reading stops there,
  /// because the format has no marker by which the next packet could be found.
  void run(const Take& take);
  const DamageLog& damage() const { return damage_; }
  uint64_t bytes() const { return begin_of_window_ + at_; }
  /// End of the last packet whose boundary is known.
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
  size_t at_ = 0;      // start of unused bytes in window_
  size_t filled_ = 0;  // number of bytes in window_
  uint64_t begin_of_window_ = 0;
  uint64_t end_of_packets_ = 0;
  bool end_ = false;
  DamageLog damage_;
};

}  // namespace tracesmith::import
