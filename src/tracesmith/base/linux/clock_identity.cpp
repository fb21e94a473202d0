// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/clock_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <sstream>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

/// False unless the text is a UUID.
bool readUuid(std::string_view text, std::array<uint8_t, 16>& out) {
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    uint8_t value = 0;
    const auto read = std::from_chars(&c, &c + 1, value, 16);
    if (read.ec != std::errc() || digits >= 2 * out.size()) return false;
    uint8_t& byte = out[digits / 2];
    byte = static_cast<uint8_t>(byte << 4 | value);
    ++digits;
  }
  return digits == 2 * out.size();
}

/// 0: the kernel has none.
ino_t namespaceAt(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

/// Lines such as "monotonic  5000  0": seconds and nanoseconds.
int64_t monotonicShift(std::string_view offsets) {
  std::istringstream lines{std::string(offsets)};
  std::string name;
  int64_t seconds = 0, ns = 0;
  while (lines >> name >> seconds >> ns) {
    if (name == "monotonic") return seconds * kSecondNs + ns;
  }
  return 0;
}

}  // namespace

std::string ClockIdentity::text() const {
  if (!isKnown()) return {};
  std::string text;
  for (size_t i = 0; i < boot.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", boot[i]);
  }
  return shift_ns == 0 ? text : text + formatOffset(shift_ns);
}

ClockIdentity clockIdentity(std::string_view boot_id, std::string_view namespace_offsets) {
  ClockIdentity identity;
  if (!readUuid(boot_id, identity.boot)) return {};
  identity.shift_ns = monotonicShift(namespace_offsets);
  return identity;
}

const std::string& bootId() {
  static const std::string kId = [] {
    std::string text = readFileText("/proc/sys/kernel/random/boot_id", 64).value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return kId;
}

const ClockIdentity& ownClock() {
  static const ClockIdentity kOwn = [] {
    // The kernel tells the shift of the namespace that children are in.
    if (namespaceAt("/proc/self/ns/time") != namespaceAt("/proc/self/ns/time_for_children")) {
      return ClockIdentity();
    }
    return clockIdentity(bootId(), readFileText("/proc/self/timens_offsets", 4096).value_or(""));
  }();
  return kOwn;
}

}  // namespace tracesmith
