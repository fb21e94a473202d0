// SPDX-License-Identifier: Apache-2.0
// For tests: builds XRay logs with the layout of compiler-rt.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/xray/xray_log.hpp"

namespace tracesmith::test {

class XRayLogBuilder {
 public:
  XRayLogBuilder(uint16_t version, import::XRayMode mode, uint64_t frequency = 1'000'000'000,
                 uint64_t buffer_bytes = 0) {
    putFixed(bytes, version);
    putFixed(bytes, static_cast<uint16_t>(mode));
    putFixed(bytes, uint32_t{3});
    putFixed(bytes, frequency);
    putFixed(bytes, buffer_bytes);
    putFixed(bytes, uint64_t{0});
  }

  // Basic.
  XRayLogBuilder& basic(uint8_t kind, int32_t function, uint64_t tsc, uint32_t thread = 7,
                        uint32_t process = 6, uint8_t cpu = 1) {
    putFixed(bytes, uint16_t{0});
    bytes.push_back(cpu);
    bytes.push_back(kind);
    putFixed(bytes, function);
    putFixed(bytes, tsc);
    putFixed(bytes, thread);
    putFixed(bytes, process);
    putFixed(bytes, uint64_t{0});
    return *this;
  }
  XRayLogBuilder& basicArgument(int32_t function, uint64_t value, uint32_t thread = 7,
                                uint32_t process = 6) {
    putFixed(bytes, uint32_t{1});
    putFixed(bytes, function);
    putFixed(bytes, thread);
    putFixed(bytes, process);
    putFixed(bytes, value);
    putFixed(bytes, uint64_t{0});
    return *this;
  }

  // FDR: `body` becomes the 15 bytes after the first one.
  template <class... Values>
  XRayLogBuilder& metadata(uint8_t kind, Values... values) {
    Bytes body;
    (putFixed(body, values), ...);
    EXPECT_LE(body.size(), 15U);
    body.resize(15);
    bytes.push_back(static_cast<uint8_t>(kind << 1 | 1));
    bytes.insert(bytes.end(), body.begin(), body.end());
    return *this;
  }
  XRayLogBuilder& function(uint32_t kind, uint32_t id, uint32_t delta) {
    putFixed(bytes, id << 4 | kind << 1);
    putFixed(bytes, delta);
    return *this;
  }
  XRayLogBuilder& text(std::string_view data) {
    bytes.insert(bytes.end(), data.begin(), data.end());
    return *this;
  }

  std::string string() const { return std::string(asText(bytes)); }
  Bytes bytes;
};

/// A copy of a record that stays valid after reading.
struct KeptRecord {
  import::XRayRecord r;
  std::vector<uint64_t> arguments;
  std::string data;
};

struct ReadLog {
  bool ok = false;
  import::XRayHeader header;
  std::vector<import::XRayBuffer> buffers;
  std::vector<KeptRecord> records;
  import::DamageLog damage;
};

inline ReadLog readLog(std::string_view bytes) {
  ReadLog got;
  TextSource source(bytes);
  import::XRaySink sink;
  sink.header = [&](const import::XRayHeader& h) { got.header = h; };
  sink.buffer = [&](const import::XRayBuffer& b) { got.buffers.push_back(b); };
  sink.record = [&](const import::XRayRecord& r) {
    got.records.push_back({r, {r.arguments.begin(), r.arguments.end()}, std::string(r.data)});
    return true;
  };
  got.ok = import::readXRayLog(source, sink, got.damage).has_value();
  return got;
}

/// A file of the XRay samples; "" if they are not available.
inline std::string xraySample(const std::string& name) {
  const char* const data = std::getenv("TRACESMITH_TEST_DATA");
  if (data == nullptr) return {};
  const std::string path = (std::filesystem::path(data) / "traces" / "xray_own" / name).string();
  return std::filesystem::exists(path) ? path : std::string();
}

inline std::string contentOf(const std::string& path) {
  auto source = import::ByteSource::open(path);
  if (!source) return {};
  std::string all(std::filesystem::file_size(path), '\0');
  const auto n = (*source)->read({reinterpret_cast<uint8_t*>(all.data()), all.size()});
  all.resize(n ? *n : 0);
  return all;
}

}  // namespace tracesmith::test
