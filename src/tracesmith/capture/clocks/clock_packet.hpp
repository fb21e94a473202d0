// SPDX-License-Identifier: Apache-2.0
// The packet of clock_probe.hpp: 72 bytes, little-endian, the same for question and answer.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {

struct ClockPacket {
  static constexpr size_t kBytes = 72;
  static constexpr uint64_t kMagic = 0x31304b434f4c4354;  // "TCLOCK01"
  enum Kind : uint64_t { kQuestion = 1, kAnswer = 2 };

  uint64_t kind = kQuestion;
  uint64_t nonce = 0;          ///< of the question, repeated in its answer
  int64_t sent = 0;            ///< of the question, in the clock of who asks
  int64_t received_there = 0;  ///< of an answer: when the question came and the answer went
  int64_t sent_there = 0;
  ClockIdentity clock;  ///< of an answer: the clock of these times

  std::array<char, kBytes> bytes() const {
    static_assert(std::endian::native == std::endian::little);
    std::array<char, kBytes> out{};
    const uint64_t fields[] = {kMagic,
                               kind,
                               nonce,
                               static_cast<uint64_t>(sent),
                               static_cast<uint64_t>(received_there),
                               static_cast<uint64_t>(sent_there)};
    std::memcpy(out.data(), fields, sizeof fields);
    std::memcpy(out.data() + kBootAt, clock.boot.data(), clock.boot.size());
    std::memcpy(out.data() + kShiftAt, &clock.shift_ns, sizeof clock.shift_ns);
    return out;
  }

  static std::optional<ClockPacket> of(std::string_view bytes) {
    uint64_t fields[6];
    if (bytes.size() != kBytes) return std::nullopt;
    std::memcpy(fields, bytes.data(), sizeof fields);
    if (fields[0] != kMagic) return std::nullopt;
    ClockPacket packet{fields[1],
                       fields[2],
                       static_cast<int64_t>(fields[3]),
                       static_cast<int64_t>(fields[4]),
                       static_cast<int64_t>(fields[5]),
                       {}};
    std::memcpy(packet.clock.boot.data(), bytes.data() + kBootAt, packet.clock.boot.size());
    std::memcpy(&packet.clock.shift_ns, bytes.data() + kShiftAt, sizeof packet.clock.shift_ns);
    return packet;
  }

 private:
  static constexpr size_t kBootAt = 48, kShiftAt = 64;
};

}  // namespace tracesmith
