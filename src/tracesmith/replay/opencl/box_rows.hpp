// SPDX-License-Identifier: Apache-2.0
// Offsets of the rows of a box of memory, both with pitches and when packed without gaps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tracesmith/recording/command.hpp"

namespace tracesmith {

constexpr std::array<size_t, 3> kNowhere = {0, 0, 0};

/// Size in bytes of a box whose rows are `row_bytes` long; none on overflow or above 2^40.
inline std::optional<uint64_t> boxBytes(const recording::Box& box, uint64_t row_bytes) {
  uint64_t bytes = row_bytes;
  if (__builtin_mul_overflow(bytes, box.region[1], &bytes) ||
      __builtin_mul_overflow(bytes, box.region[2], &bytes) || bytes > (uint64_t{1} << 40)) {
    return std::nullopt;
  }
  return bytes;
}

/// A pitch of 0 means packed.
struct BoxRows {
  uint64_t rows, slices, row_bytes, row_pitch, slice_pitch;

  BoxRows(const recording::Box& box, uint64_t row, uint64_t row_step, uint64_t slice_step)
      : rows(box.region[1]),
        slices(box.region[2]),
        row_bytes(row),
        row_pitch(row_step != 0 ? row_step : row),
        slice_pitch(slice_step != 0 ? slice_step : row_pitch * rows) {}

  /// Calls f(packed offset, offset with pitches, bytes of the row) for each row.
  template <class F>
  void forEach(F&& f) const {
    for (uint64_t z = 0; z < slices; ++z) {
      for (uint64_t y = 0; y < rows; ++y) {
        f((z * rows + y) * row_bytes, z * slice_pitch + y * row_pitch, row_bytes);
      }
    }
  }
};

}  // namespace tracesmith
