// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#if defined(_WIN32)
#include "tracesmith/base/windows/windows_file.hpp"
#elif defined(__APPLE__)
#include <mach/mach.h>
#endif

namespace tracesmith {
namespace {

/// The first line of `path` as a number; empty if it is not a number ("max").
std::optional<uint64_t> numberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<uint64_t> availableBytes() {
#if defined(_WIN32)
  return windows::availableMemoryBytes();
#elif defined(__APPLE__)
  vm_statistics64 pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages),
                        &count) != KERN_SUCCESS) {
    return std::nullopt;
  }
  return (uint64_t{pages.free_count} + pages.inactive_count) * vm_page_size;
#else
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    uint64_t kib = 0;
    if (key == "MemAvailable:" && file >> kib) return kib << 10;
    std::getline(file, key);
  }
  return std::nullopt;
#endif
}

/// Inside a container, the process's own group is the visible root.
std::optional<uint64_t> groupBytes() {
  std::string group;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::optional<uint64_t> least;
  for (const std::string& path :
       {"/sys/fs/cgroup" + group + "/memory.max", std::string("/sys/fs/cgroup/memory.max"),
        std::string("/sys/fs/cgroup/memory/memory.limit_in_bytes")}) {
    const std::optional<uint64_t> bytes = numberIn(path);
    if (bytes) least = std::min(least.value_or(*bytes), *bytes);
  }
  return least;
}

}  // namespace

std::optional<uint64_t> physicalMemoryBytes() {
#ifdef _WIN32
  return windows::physicalMemoryBytes();
#else
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::nullopt;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
#endif
}

uint64_t memoryBudget() {
  constexpr uint64_t kUnknown = uint64_t{8} << 30;
  const std::optional<uint64_t> available = availableBytes();
  const std::optional<uint64_t> group = groupBytes();
  if (!available && !group) return kUnknown;
  return std::min(available.value_or(UINT64_MAX), group.value_or(UINT64_MAX)) / 4 * 3;
}

}  // namespace tracesmith
