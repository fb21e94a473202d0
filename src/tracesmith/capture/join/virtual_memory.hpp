// SPDX-License-Identifier: Apache-2.0
// When physical memory of CUDA's virtual memory API is allocated and freed, in one process.
//
// cuMemCreate makes physical memory and one reference to it, its handle. cuMemMap maps it at
// addresses that were reserved before, any number of times, and each mapping keeps the memory as
// well. So the memory goes with whichever comes last: the release of the handle, or the end of the
// last mapping. Programs often release the handle as soon as the memory is mapped.
//
//   call                                 handle references   mappings
//   cuMemCreate                          1
//   cuMemRetainAllocationHandle          +1
//   cuMemRelease                         -1
//   cuMemMap                                                 +1
//   cuMemUnmap                                               -1 for each mapping in the range
//   cuMemImportFromShareableHandle       1, of memory that is no allocation of this process
//
// Calls of several threads arrive in the order of each thread only. They are taken in by their time
// stamps, and one pass late: when a call is seen, those that ended before it began have been seen
// by the end of the next pass (the agent stamps them so that this order is the driver's).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/capture/protocol/cuda_records.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class VirtualMemory {
 public:
  /// A call that succeeded; arena::CudaVirtualMemoryRecord says which fields it has.
  struct Operation {
    arena::VirtualMemoryCall call{};
    uint64_t correlation = 0;
    int64_t stamp = 0;    ///< of the agent's clock: the order of the calls
    int64_t time_ns = 0;  ///< the same as host time, for the rows
    uint64_t handle = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t device = arena::kNoDevice;
    ThreadId thread{};
    CallPathId path{};
  };

  /// A row of `memory_event`. The free of an allocation has the same address, bytes and device.
  struct Event {
    MemoryKind kind{};
    int64_t time_ns = 0;
    /// Where the memory was mapped first: the address that the program works with. Memory that is
    /// not mapped for long, or whose address another allocation has, is named by its handle, with
    /// kHandleBit set so that it is nobody's address.
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t device = arena::kNoDevice;
    uint64_t created_by = 0;   ///< correlation id of the call that made the memory
    uint64_t correlation = 0;  ///< of the call that did this; 0: that call was not recorded
    ThreadId thread{};
    CallPathId path{};
  };
  static constexpr uint64_t kHandleBit = uint64_t{1} << 62;

  /// A call has been seen. Calls may come in any order within two passes.
  void add(const Operation& operation);
  /// Takes in the calls of the passes before this one.
  std::vector<Event> endPass();
  /// The file is about to be written: memory that has not been mapped for two writes is told.
  std::vector<Event> endCommit();
  /// Takes in what is left. Memory that still lives stays allocated.
  std::vector<Event> finish();

  /// Calls that name memory whose creation was not recorded, and calls that were missed: a handle
  /// or an address was given again that by all that is known was still in use.
  uint64_t unmatched() const { return unmatched_; }

  /// Whether the calls of this function are taken in here: what CUPTI tells of them is not another
  /// allocation.
  static bool isFunction(std::string_view name);

  // For a collector that goes on where another died. It adds all operations of the file again, and
  // says which events the file has; those are not made again.
  void restoreEvent(const MemoryEventRow& row);

 private:
  struct Memory {
    Operation created;
    uint64_t references = 0;  // through all handles
    uint64_t mappings = 0;
    uint64_t address = 0;     // in its rows
    bool is_foreign = false;  // no allocation of this process, or not recorded: it has no rows
    uint32_t commits = 0;     // since it was made
  };
  struct Mapping {
    uint64_t bytes = 0;
    uint64_t memory = 0;
  };
  struct Handle {
    uint64_t memory = 0;
    uint64_t references = 0;  // through this handle
  };
  /// Of the process between two execs: handles and addresses begin anew.
  struct Life {
    std::unordered_map<uint64_t, Handle> handles;
    std::map<uint64_t, Mapping> mappings;  // by address
    std::set<uint64_t> told;               // addresses of rows, while the memory lives
    // When rows with these addresses were freed, while there is memory without a row: an allocation
    // that gets its row late must not have an address that another one still had when it was made.
    std::unordered_map<uint64_t, int64_t> freed;
  };

  void apply(const Operation& op);
  void create(Life& life, const Operation& op, bool is_foreign);
  void release(Life& life, const Operation& op);
  void map(Life& life, const Operation& op);
  void unmap(Life& life, const Operation& op);
  void retain(Life& life, const Operation& op);
  void reference(Life& life, const Operation& op, uint64_t number);
  uint64_t memoryOf(Life& life, const Operation& op);
  void dropMapping(Life& life, std::map<uint64_t, Mapping>::iterator at, const Operation& by);
  void freeUnused(Life& life, uint64_t number, const Operation& by);
  void tell(Life& life, uint64_t number, uint64_t address);
  static bool isFree(const Life& life, uint64_t address, int64_t since);
  Life& lifeOf(const Operation& op);

  std::vector<Operation> held_;  // not taken in yet
  int64_t horizon_ = INT64_MIN;  // up to here all have been seen
  std::map<uint32_t, Life> lives_;
  std::map<uint64_t, Memory> memories_;  // by a number of our own
  uint64_t last_number_ = 0;
  std::set<uint64_t> untold_;  // numbers of memories without a row
  std::vector<Event> events_;
  uint64_t unmatched_ = 0;
  std::unordered_map<uint64_t, uint64_t> restored_allocations_;     // correlation id: address
  std::multiset<std::pair<uint64_t, uint64_t>> restored_releases_;  // correlation id, address
};

}  // namespace tracesmith
