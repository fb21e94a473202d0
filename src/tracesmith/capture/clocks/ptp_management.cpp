// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/ptp_management.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tracesmith/capture/clocks/network_bytes.hpp"

namespace tracesmith {
namespace {

constexpr uint8_t kManagement = 0xd, kVersion = 2, kResponse = 2, kControl = 4, kNoInterval = 0x7f;
constexpr size_t kHead = 48, kTlvHead = 4, kIdBytes = 2, kErrorBytes = 4, kPortIdentity = 10;
constexpr uint16_t kManagementTlv = 1, kErrorTlv = 2;
// 65,535 ports with a name each are those of a damaged answer.
constexpr size_t kMostPorts = 256;

/// As ptp4l writes it: "a251ad.fffe.7ecd9b".
std::string identityAt(std::string_view bytes, size_t at) {
  return fmt::format("{:06x}.{:04x}.{:06x}", numberAt(bytes, at, 3), numberAt(bytes, at + 3, 2),
                     numberAt(bytes, at + 5, 3));
}

/// A TimeInterval: ns times 2^16.
int64_t intervalAt(std::string_view bytes, size_t at) {
  return static_cast<int64_t>(numberAt(bytes, at, 8)) / (1 << 16);
}

/// The port of this number, which is added if it is new; nullptr if there are too many.
PtpPort* portOf(PtpStatus& status, uint16_t number) {
  const auto at = std::lower_bound(status.ports.begin(), status.ports.end(), number,
                                   [](const PtpPort& port, uint16_t n) { return port.number < n; });
  if (at != status.ports.end() && at->number == number) return &*at;
  if (status.ports.size() == kMostPorts) return nullptr;
  return &*status.ports.insert(at, PtpPort{.number = number});
}

void takePort(std::string_view data, PtpStatus& status) {
  PtpPort* const port = portOf(status, static_cast<uint16_t>(numberAt(data, 8, 2)));
  if (port != nullptr) port->state = static_cast<PtpPortState>(numberAt(data, 10, 1));
}

/// Port identity, state, kind of stamps, length of the name, name.
void takePortProperties(std::string_view data, PtpStatus& status) {
  PtpPort* const port = portOf(status, static_cast<uint16_t>(numberAt(data, 8, 2)));
  if (port == nullptr) return;
  constexpr uint64_t kSoftware = 0, kMostKind = 3;  // 1 to 3: kinds of hardware stamps
  const uint64_t kind = numberAt(data, 11, 1);
  port->stamps = kind == kSoftware   ? PtpPort::Stamps::kSoftware
                 : kind <= kMostKind ? PtpPort::Stamps::kHardware
                                     : PtpPort::Stamps::kNotTold;
  port->interface = data.substr(13, numberAt(data, 12, 1));
}

void takeTimeProperties(std::string_view data, PtpStatus& status) {
  constexpr uint64_t kUtcOffsetValid = 1 << 2, kPtpTimescale = 1 << 3;
  const uint64_t flags = numberAt(data, 2, 1);
  status.is_on_ptp_scale = (flags & kPtpTimescale) != 0;
  status.utc_offset.reset();
  if ((flags & kUtcOffsetValid) != 0) {
    status.utc_offset = static_cast<int16_t>(numberAt(data, 0, 2));
  }
}

/// The least that a data set has; 0: it is not one of these.
size_t leastBytesOf(PtpDataSet data_set) {
  switch (data_set) {
    case PtpDataSet::kDefault:
      return 20;
    case PtpDataSet::kCurrent:
      return 18;
    case PtpDataSet::kParent:
      return 32;
    case PtpDataSet::kTimeProperties:
      return 4;
    case PtpDataSet::kPort:
      return 26;
    case PtpDataSet::kTimeStatus:
      return 50;
    case PtpDataSet::kPortProperties:
      return 13;
  }
  return 0;
}

}  // namespace

std::string ptpPortStateName(PtpPortState state) {
  constexpr std::array<std::string_view, 9> kNames = {"INITIALIZING", "FAULTY",       "DISABLED",
                                                      "LISTENING",    "PRE_MASTER",   "MASTER",
                                                      "PASSIVE",      "UNCALIBRATED", "SLAVE"};
  const auto number = static_cast<size_t>(state);
  if (number == 0 || number > kNames.size()) return fmt::format("state {}", number);
  return std::string(kNames[number - 1]);
}

const PtpPort* PtpStatus::followingPort() const {
  const auto found =
      std::find_if(ports.begin(), ports.end(), [](const PtpPort& p) { return p.isFollowing(); });
  return found == ports.end() ? nullptr : &*found;
}

std::string ptpQuestion(PtpDataSet data_set, uint8_t domain, uint16_t sequence) {
  std::string bytes(kHead + kTlvHead + kIdBytes, '\0');
  putNumber(bytes, 0, 1, kManagement);
  putNumber(bytes, 1, 1, kVersion);
  putNumber(bytes, 2, 2, bytes.size());
  putNumber(bytes, 4, 1, domain);
  putNumber(bytes, 30, 2, sequence);
  putNumber(bytes, 32, 1, kControl);
  putNumber(bytes, 33, 1, kNoInterval);
  for (size_t i = 0; i < kPortIdentity; ++i) bytes[34 + i] = '\xff';  // any clock, any port
  putNumber(bytes, 48, 2, kManagementTlv);
  putNumber(bytes, 50, 2, kIdBytes);
  putNumber(bytes, 52, 2, static_cast<uint16_t>(data_set));
  return bytes;
}

Result<PtpAnswer> parsePtpAnswer(std::string_view bytes) {
  const auto damaged = [] { return fail(ErrorCode::kDamaged, "is no answer of a PTP daemon"); };
  if (bytes.size() < kHead + kTlvHead || (numberAt(bytes, 0, 1) & 0xf) != kManagement ||
      (numberAt(bytes, 1, 1) & 0xf) != kVersion || (numberAt(bytes, 46, 1) & 0xf) != kResponse) {
    return damaged();
  }
  const size_t length = numberAt(bytes, 2, 2);
  if (length > bytes.size() || length < kHead + kTlvHead) return damaged();
  const uint64_t type = numberAt(bytes, 48, 2);
  const std::string_view rest = bytes.substr(kHead + kTlvHead, length - kHead - kTlvHead);
  const size_t value_bytes = numberAt(bytes, 50, 2);
  if (value_bytes > rest.size()) return damaged();
  const std::string_view value = rest.substr(0, value_bytes);
  PtpAnswer answer;
  answer.domain = static_cast<uint8_t>(numberAt(bytes, 4, 1));
  answer.sequence = static_cast<uint16_t>(numberAt(bytes, 30, 2));
  answer.is_error = type == kErrorTlv;
  if (type == kManagementTlv && value.size() >= kIdBytes) {
    answer.data_set = static_cast<PtpDataSet>(numberAt(value, 0, 2));
    answer.data = value.substr(kIdBytes);
    return answer;
  }
  if (type == kErrorTlv && value.size() >= kErrorBytes) {
    answer.data_set = static_cast<PtpDataSet>(numberAt(value, 2, 2));
    return answer;
  }
  return damaged();
}

Status takePtpDataSet(const PtpAnswer& answer, PtpStatus& status) {
  const std::string_view data = answer.data;
  const size_t least = leastBytesOf(answer.data_set);
  if (answer.is_error || least == 0) return {};
  if (data.size() < least) {
    return fail(ErrorCode::kDamaged,
                fmt::format("data set {:#x} of the PTP daemon has {} bytes, and needs {}",
                            static_cast<uint16_t>(answer.data_set), data.size(), least));
  }
  status.domain = answer.domain;
  switch (answer.data_set) {
    case PtpDataSet::kDefault:
      status.port_count = static_cast<uint16_t>(numberAt(data, 2, 2));
      status.clock = identityAt(data, 10);
      break;
    case PtpDataSet::kCurrent:
      status.steps_removed = static_cast<uint16_t>(numberAt(data, 0, 2));
      status.offset_from_master = intervalAt(data, 2);
      status.mean_path_delay = intervalAt(data, 10);
      break;
    case PtpDataSet::kParent:
      status.parent = identityAt(data, 0);
      status.grandmaster = identityAt(data, 24);
      break;
    case PtpDataSet::kTimeProperties:
      takeTimeProperties(data, status);
      break;
    case PtpDataSet::kPort:
      takePort(data, status);
      break;
    case PtpDataSet::kTimeStatus:
      status.last_sync = static_cast<int64_t>(numberAt(data, 8, 8));
      break;
    case PtpDataSet::kPortProperties:
      takePortProperties(data, status);
      break;
  }
  return {};
}

}  // namespace tracesmith
