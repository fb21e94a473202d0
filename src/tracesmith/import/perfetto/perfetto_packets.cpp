// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_packets.hpp"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kUnpackStep = 1u << 20;       // bytes per read
constexpr size_t kLargestUnpacked = 1u << 28;  // bytes of one packet
constexpr int kDeepestPacket = 2;              // nesting of compressed packets
using perfetto_numbers::kBytesWire;
using perfetto_numbers::kEightBytesWire;
using perfetto_numbers::kFourBytesWire;
using perfetto_numbers::kLargestPacket;
using perfetto_numbers::kVarintWire;

/// Unpacks RFC 1950 or 1951, as recognised by the first bytes. nullopt if they are damaged or the
/// result is too large.
std::optional<std::string> inflated(std::string_view packed) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(packed[i]); };
  if (packed.size() >= 2 && (byte(0) & 0x0f) == 8 && (byte(0) * 256 + byte(1)) % 31 == 0) {
    state->crc_flag = ISAL_ZLIB;
  }
  state->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data()));
  state->avail_in = static_cast<uint32_t>(packed.size());
  std::string out;
  size_t made = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (made + kUnpackStep > kLargestUnpacked) return std::nullopt;
    out.resize(made + kUnpackStep);
    state->next_out = reinterpret_cast<uint8_t*>(out.data()) + made;
    state->avail_out = kUnpackStep;
    const int result = isal_inflate(state.get());
    const size_t more = kUnpackStep - state->avail_out;
    made += more;
    if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT) return std::nullopt;
    if (state->block_state != ISAL_BLOCK_FINISH && more == 0) return std::nullopt;  // truncated
  }
  out.resize(made);
  return out;
}

std::optional<std::string> unzstd(std::string_view packed) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) return std::nullopt;
  std::string out;
  size_t made = 0;
  ZSTD_inBuffer from = {packed.data(), packed.size(), 0};
  while (true) {
    if (made + kUnpackStep > kLargestUnpacked) return std::nullopt;
    out.resize(made + kUnpackStep);
    ZSTD_outBuffer to = {out.data() + made, kUnpackStep, 0};
    const size_t before = from.pos;
    const size_t result = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(result)) return std::nullopt;
    made += to.pos;
    if (from.pos == from.size && to.pos < to.size) {
      if (result != 0) return std::nullopt;  // truncated
      break;
    }
    if (to.pos == 0 && from.pos == before) return std::nullopt;
  }
  out.resize(made);
  return out;
}

}  // namespace

/// Makes `bytes` of the source available from at_ on; returns false if it ends before.
bool PerfettoPackets::need(size_t bytes) {
  while (filled_ - at_ < bytes && !end_) {
    if (at_ > 0) {
      std::memmove(window_.data(), window_.data() + at_, filled_ - at_);
      begin_of_window_ += at_;
      filled_ -= at_;
      at_ = 0;
    }
    if (window_.size() < filled_ + kUnpackStep)
      window_.resize(std::max(window_.size() * 2, 2 * kUnpackStep));
    const Result<size_t> n = source_.read({window_.data() + filled_, window_.size() - filled_});
    if (!n) {
      damage_.add(begin_of_window_ + filled_, 0, n.error().message);
      end_ = true;
      break;
    }
    if (*n == 0) end_ = true;
    filled_ += *n;
  }
  return filled_ - at_ >= bytes;
}

bool PerfettoPackets::varint(uint64_t& value) {
  need(kMaxVarintBytes);
  ByteReader in({window_.data() + at_, filled_ - at_});
  const size_t before = in.remaining();
  value = in.varint();
  if (!in.ok()) return false;
  at_ += before - in.remaining();
  return true;
}

/// Reads and discards the rest of the source; returns the number of bytes from `offset` on.
uint64_t PerfettoPackets::rest(uint64_t offset) {
  do {
    at_ = filled_;
  } while (need(1));
  return bytes() - offset;
}

/// Skips the value of a field that is not a packet.
bool PerfettoPackets::skip(uint32_t wire_type) {
  uint64_t length = 0;
  switch (wire_type) {
    case kVarintWire:
      return varint(length);
    case kEightBytesWire:
      length = 8;
      break;
    case kFourBytesWire:
      length = 4;
      break;
    case kBytesWire:
      if (!varint(length) || length > kLargestPacket) return false;
      break;
    default:
      return false;
  }
  if (!need(length)) return false;
  at_ += length;
  return true;
}

void PerfettoPackets::run(const Take& take) {
  take_ = &take;
  while (need(1)) {
    const uint64_t offset = bytes();
    uint64_t tag = 0;
    uint64_t length = 0;
    if (!varint(tag)) {
      return damage_.add(offset, filled_ - at_, "the file ends within a packet");
    }
    if (tag != (perfetto_numbers::kPacket << 3 | kBytesWire)) {
      if ((tag >> 3) != 0 && skip(tag & 7)) continue;
      return damage_.add(offset, rest(offset), "this is not a packet; the rest cannot be read");
    }
    if (!varint(length) || length > kLargestPacket) {
      return damage_.add(offset, rest(offset),
                         "a packet of impossible length; the rest cannot be read");
    }
    if (!need(length)) {
      return damage_.add(offset, begin_of_window_ + filled_ - offset,
                         "the file ends within a packet");
    }
    const std::string_view packet(reinterpret_cast<const char*>(window_.data()) + at_, length);
    at_ += length;
    end_of_packets_ = bytes();
    if (!give(packet, offset, 0)) return;
  }
}

bool PerfettoPackets::give(std::string_view packet, uint64_t offset, int depth) {
  // Compressed packets have no other relevant fields.
  proto::Reader reader(packet);
  proto::Field field;
  std::string_view deflated;
  std::string_view zstd;
  while (reader.next(field)) {
    if (field.wire_type != kBytesWire) continue;
    if (field.number == perfetto_numbers::packet::kCompressed) deflated = field.bytes;
    if (field.number == perfetto_numbers::packet::kZstdCompressed) zstd = field.bytes;
  }
  if (!reader.ok()) {
    damage_.add(offset, packet.size(), "a packet that is not protobuf");
    return true;
  }
  if (deflated.empty() && zstd.empty()) return (*take_)(packet, offset);
  if (depth >= kDeepestPacket) {
    damage_.add(offset, packet.size(), "compressed packets nested too deep");
    return true;
  }
  const std::optional<std::string> packets = zstd.empty() ? inflated(deflated) : unzstd(zstd);
  if (!packets) {
    damage_.add(offset, packet.size(), "compressed packets that cannot be unpacked");
    return true;
  }
  return within(*packets, offset, depth + 1);
}

bool PerfettoPackets::within(std::string_view packets, uint64_t offset, int depth) {
  proto::Reader reader(packets);
  proto::Field field;
  while (reader.next(field)) {
    if (field.number != perfetto_numbers::kPacket || field.wire_type != kBytesWire) continue;
    if (!give(field.bytes, offset, depth)) return false;
  }
  if (!reader.ok()) damage_.add(offset, 0, "compressed packets followed by other data");
  return true;
}

}  // namespace tracesmith::import
