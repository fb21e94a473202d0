// SPDX-License-Identifier: Apache-2.0
// The agent's side of cuda_layout.hpp: definitions that the collector can read again, and CUPTI's
// buffers, placed in a file so that they outlive a killed program.
#pragma once

#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith::agent {

/// Lock for definitions. Held briefly, never while waiting for space in a ring.
class DefinitionLock {
 public:
  DefinitionLock();
  ~DefinitionLock();
  DefinitionLock(const DefinitionLock&) = delete;
  DefinitionLock& operator=(const DefinitionLock&) = delete;

  /// Does not wait: another thread, or the code that a signal handler interrupted, may hold the
  /// lock.
  static bool tryBegin();
  static void end();
  /// True in a signal handler that interrupted the owner: then the lock cannot be taken at all.
  static bool isInterrupted();

 private:
  const NoHandlers uninterrupted_;
  const NoCancel whole_;
};

/// Arms the agent. Called by CUDA's driver or NVTX, whichever is loaded first, on any thread.
bool armOnce();

/// Creates the file of this life if needed. A forked child gets its own file, with all definitions
/// of the parent. False: errno is set. Needs ready().
bool openSharedFile();
/// For an armed process that is not being captured: memory holds the definitions until there is a
/// file, and again after closeSharedFile(). False: errno is set.
bool openSharedMemory();
void closeSharedFile();
/// Needs openSharedFile() or openSharedMemory().
cuda_file::Header& sharedHeader();

/// Appends a definition (a record of cuda_records.hpp, whole words). False: there was no space,
/// which is counted if the definition is `needed`. The caller holds DefinitionLock.
bool appendDefinition(const void* record, size_t bytes, bool needed = true);

/// The epoch (see writer.hpp) of the open file.
extern std::atomic<uint64_t> g_shared_epoch;
/// Needs ready(). [hot]
inline bool sharedFileIsOpen() {
  return __builtin_expect(g_shared_epoch.load(std::memory_order_acquire) == t_state.epoch, 1);
}

/// A zeroed buffer for CUPTI; null, and counted, if there is none. Any thread, takes no lock.
uint8_t* takeBuffer();
/// The records of a buffer before `end` are in a ring.
void noteCopied(const uint8_t* buffer, size_t end);
/// Frees a buffer and zeroes the used part.
void returnBuffer(uint8_t* buffer, size_t used);
/// Marks the buffers that CUPTI has now, so that nobody reads them.
void abandonBuffers();
/// CUPTI has a buffer with records in it.
bool hasLentBuffers();

}  // namespace tracesmith::agent
