// SPDX-License-Identifier: Apache-2.0
// Lists parts of a source that could not be used. The list is bounded, even for hostile input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

class DamageLog {
 public:
  static constexpr size_t kMostPlaces = 1000;

  /// Merges adjacent ranges with the same reason. `events`: how many events were lost, if known.
  void add(uint64_t offset, uint64_t bytes, std::string_view reason,
           std::optional<uint64_t> events = std::nullopt) {
    bytes_ += bytes;
    if (!places_.empty()) {
      SourceDamage& last = places_.back();
      if (last.reason == reason && last.offset + last.bytes == offset && bytes > 0) {
        last.bytes += bytes;
        last.events = sum(last.events, events);
        return;
      }
    }
    ++count_;
    if (places_.size() < kMostPlaces) {
      places_.push_back({offset, bytes, std::string(reason), 1, events});
      return;
    }
    if (places_.size() == kMostPlaces) {
      places_.push_back({offset, 0, "further damage, not listed", 0, 0});
    }
    places_.back().bytes += bytes;
    places_.back().events = sum(places_.back().events, events);
    ++places_.back().places;
  }

  bool empty() const { return places_.empty(); }
  const std::vector<SourceDamage>& places() const { return places_; }
  /// One line for the trace's table of losses; "" if nothing is damaged.
  std::string summary() const {
    if (places_.empty()) return {};
    return std::to_string(bytes_) + " bytes in " + std::to_string(count_) +
           " places of the source could not be used, first: " + places_.front().reason;
  }

 private:
  static std::optional<uint64_t> sum(std::optional<uint64_t> a, std::optional<uint64_t> b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }

  std::vector<SourceDamage> places_;
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tracesmith::import
