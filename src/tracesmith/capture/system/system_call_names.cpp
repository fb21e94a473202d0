// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/system_call_names.hpp"

#include <algorithm>
#include <array>

namespace tracesmith {
namespace {

struct Name {
  uint32_t number;
  std::string_view name;
};
/// By number. CMake makes the list from the system's headers.
constexpr Name kNames[] = {
#include "system_call_names.inc"
};

/// In the order of their names.
constexpr std::array<std::string_view, 35> kOfDescriptors = {
    "accept",    "accept4",    "bind",     "close",     "connect",    "epoll_pwait", "epoll_wait",
    "fallocate", "fchmod",     "fchown",   "fdatasync", "flock",      "fstat",       "fsync",
    "ftruncate", "getdents64", "ioctl",    "lseek",     "newfstatat", "openat",      "pread64",
    "preadv",    "pwrite64",   "pwritev",  "read",      "readv",      "recvfrom",    "recvmmsg",
    "recvmsg",   "sendfile",   "sendmmsg", "sendmsg",   "sendto",     "write",       "writev"};

}  // namespace

std::string_view systemCallName(uint32_t number) {
  const auto* const at =
      std::lower_bound(std::begin(kNames), std::end(kNames), number,
                       [](const Name& name, uint32_t value) { return name.number < value; });
  return at != std::end(kNames) && at->number == number ? at->name : std::string_view();
}

bool takesDescriptor(std::string_view call) {
  return std::binary_search(kOfDescriptors.begin(), kOfDescriptors.end(), call);
}

}  // namespace tracesmith
