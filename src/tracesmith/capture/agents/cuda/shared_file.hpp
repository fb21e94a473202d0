// SPDX-License-Identifier: Apache-2.0
// The agent's side of cuda_layout.hpp: definitions that the collector can read again, and CUPTI's
// buffers where they outlive a killed program.
#pragma once

#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith::agent {

/// Of what is told once. It is held for a moment, never while a ring is waited for.
class Telling {
 public:
  Telling();
  ~Telling();
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  /// Does not wait: another thread may have it, or the code that a signal handler interrupted.
  static bool tryBegin();
  static void end();
  /// In a signal handler that has interrupted it: then it cannot be had at all.
  static bool isInterrupted();

 private:
  const NoHandlers uninterrupted_;
  const NoCancel whole_;
};

/// Arms the agent, whoever comes first: CUDA's driver or NVTX, on any thread.
bool armOnce();

/// The file of this life is there; makes it. In a forked child it is one of its own, which says all
/// that the parent had said. False: errno says why. Needs ready().
bool openSharedFile();
/// Of an armed process that nobody captures: memory takes what is told once, until there is a file
/// for it, and again after closeSharedFile(). False: errno says why.
bool openSharedMemory();
void closeSharedFile();
/// Needs openSharedFile() or openSharedMemory().
cuda_file::Header& sharedHeader();

/// Appends a definition (a record of cuda_records.hpp, whole words). False: there was no room,
/// which is counted if it is `needed`. The caller is Telling.
bool appendDefinition(const void* record, size_t bytes, bool needed = true);

/// The epoch (see writer.hpp) of the file that is open.
extern std::atomic<uint64_t> g_shared_epoch;
/// Needs ready(). [hot]
inline bool sharedFileIsOpen() {
  return __builtin_expect(g_shared_epoch.load(std::memory_order_acquire) == t_state.epoch, 1);
}

/// A buffer of zeros for CUPTI; null, counted, when none is to be had. Any thread, no lock.
uint8_t* takeBuffer();
/// The record at `offset` of a buffer is in a ring, and so are all before it.
void noteTold(const uint8_t* buffer, size_t end);
/// Zeroes what was used.
void giveBackBuffer(uint8_t* buffer, size_t used);
/// What CUPTI has of them now is not to be read, whoever finds it.
void disownBuffers();
/// CUPTI has a buffer with records in it.
bool buffersAreOut();

}  // namespace tracesmith::agent
