// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/hardware_clock.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tracesmith/capture/clocks/clock_reading.hpp"

namespace tracesmith {
namespace {

constexpr int kReadings = 16;

/// The clock id of an open clock device: the kernel's FD_TO_CLOCKID (clock_gettime(2)).
clockid_t clockIdOf(int fd) {
  constexpr unsigned kDynamicClock = 3;
  return static_cast<clockid_t>(~static_cast<unsigned>(fd) << 3 | kDynamicClock);
}

/// As the driver says (ETHTOOL_GET_TS_INFO). nullopt, with errno, if it does not; -1: no clock.
std::optional<int> indexByDriver(const std::string& interface) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  ifreq request{};
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  request.ifr_data = reinterpret_cast<char*>(&info);
  const int result = ::ioctl(fd, SIOCETHTOOL, &request);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (result != 0) return std::nullopt;
  return info.phc_index;
}

/// As /sys says: the adapter's folder "ptp" has one folder for each of its clocks.
std::optional<int> indexBySysfs(const std::string& interface) {
  std::error_code none;
  const std::filesystem::path folder = "/sys/class/net/" + interface + "/device/ptp";
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    int index = 0;
    if (!name.starts_with("ptp")) continue;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + 3, end, index);
    if (read.ec == std::errc() && read.ptr == end) return index;
  }
  return std::nullopt;
}

}  // namespace

Result<int> findHardwareClock(const std::string& interface) {
  const bool can_be_name = !interface.empty() && interface.size() < IFNAMSIZ &&
                           interface.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!can_be_name || ::if_nametoindex(interface.c_str()) == 0) {
    return fail(ErrorCode::kNotFound,
                "there is no such network adapter; 'ip link' lists those of this host",
                "'" + interface + "'");
  }
  const std::optional<int> by_driver = indexByDriver(interface);
  if (by_driver && *by_driver >= 0) return *by_driver;
  if (const std::optional<int> by_sysfs = indexBySysfs(interface)) return *by_sysfs;
  return fail(ErrorCode::kUnsupported,
              "has no hardware clock; 'ls /sys/class/net/*/device/ptp' lists adapters that have "
              "one",
              interface);
}

Result<clocks::OffsetBound> readHardwareClock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == EACCES || errno == EPERM) {
      return fail(ErrorCode::kPermission,
                  "the clock cannot be opened: permission denied; run as root, or let your group "
                  "read it with a rule of udev (SUBSYSTEM==\"ptp\", GROUP=\"...\", MODE=\"0640\")",
                  path);
    }
    if (errno == ENOENT) {
      return fail(ErrorCode::kNotFound,
                  "there is no such device; a container has to be given it (--device " + path + ")",
                  path);
    }
    return failErrno(errno, "the clock cannot be opened", path);
  }
  const auto offset = readClockOffset(clockIdOf(fd), kReadings);
  const int error = errno;
  ::close(fd);
  if (!offset) {
    return fail(ErrorCode::kUnsupported,
                "is no clock that can be read: " + std::generic_category().message(error), path);
  }
  return *offset;
}

Result<clocks::OffsetBound> askHardwareClock(const std::string& interface) {
  TS_TRY(const int index, findHardwareClock(interface));
  return readHardwareClock("/dev/ptp" + std::to_string(index));
}

}  // namespace tracesmith
