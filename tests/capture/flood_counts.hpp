// SPDX-License-Identifier: Apache-2.0
// What cl_flood says of itself while it runs, in a file that outlives it: mapped by it and its
// test.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

struct FloodCounts {
  std::atomic<uint64_t> pid;
  std::atomic<uint64_t> launched;  ///< enqueues that have returned successfully
  std::atomic<uint64_t> finished;  ///< 1: all threads are through
};

/// Never null; the file is made when it is not there. Ends the program when it cannot be.
inline FloodCounts* mapFloodCounts(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(FloodCounts)) != 0) _exit(96);
  void* at = mmap(nullptr, sizeof(FloodCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) _exit(96);
  return static_cast<FloodCounts*>(at);
}
