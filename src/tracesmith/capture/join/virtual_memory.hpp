// SPDX-License-Identifier: Apache-2.0
// When physical memory of CUDA's virtual memory API is allocated and freed, in one process.
//
// cuMemCreate creates physical memory and one reference to it, its handle. cuMemMap maps it at
// reserved addresses, any number of times, and each mapping is a reference, too. So the memory is
// freed when the handle is released and the last mapping has ended. Programs often release the
// handle as soon as the memory is mapped.
//
//   call                                 handle references   mappings
//   cuMemCreate                          1
//   cuMemRetainAllocationHandle          +1
//   cuMemRelease                         -1
//   cuMemMap                                                 +1
//   cuMemUnmap                                               -1 for each mapping in the range
//   cuMemImportFromShareableHandle       1, of memory that is no allocation of this process
//
// Only the calls of one thread arrive in order. They are therefore applied in the order of their
// time stamps, and one pass late. This is enough: calls that ended before a given call started are
// seen by the end of the pass after it. The agent takes the stamps so that their order is the
// driver's.
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
  /// A successful call; arena::CudaVirtualMemoryRecord says which fields it has.
  struct Operation {
    arena::VirtualMemoryCall call{};
    uint64_t correlation = 0;
    int64_t stamp = 0;    ///< in the agent's clock: orders the calls
    int64_t time_ns = 0;  ///< the same as host time, for the rows
    uint64_t handle = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t device = arena::kNoDevice;
    ThreadId thread{};
    CallPathId path{};
  };

  /// A row of `memory_event`. The free has the same address, bytes and device as its allocation.
  struct Event {
    MemoryKind kind{};
    int64_t time_ns = 0;
    /// The first address where the memory was mapped, which is the one the program uses. The handle
    /// stands for it when the memory is not mapped soon, or when another allocation has that
    /// address. kHandleBit is then set, so that it equals no address.
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t device = arena::kNoDevice;
    uint64_t created_by = 0;   ///< correlation id of the call that created the memory
    uint64_t correlation = 0;  ///< of the call that caused this event; 0: not recorded
    ThreadId thread{};
    CallPathId path{};
  };
  static constexpr uint64_t kHandleBit = uint64_t{1} << 62;

  /// Adds a call. Calls may come in any order within two passes.
  void add(const Operation& operation);
  /// Applies the calls of the passes before this one.
  std::vector<Event> endPass();
  /// Call it before the file is written. Allocates, by handle, memory that stayed unmapped for two
  /// commits.
  std::vector<Event> endCommit();
  /// Applies the remaining calls. Memory that still exists stays allocated.
  std::vector<Event> finish();

  /// Calls that name memory whose creation was not recorded, plus missed calls. A call was missed
  /// when a handle or address is given out again although, as far as is known, it is still in use.
  uint64_t unmatched() const { return unmatched_; }

  /// Whether calls of this function are handled here. CUPTI's own memory records of them are not
  /// additional allocations.
  static bool isFunction(std::string_view name);

  // For a collector that resumes another's session. It adds all operations of the file again, and
  // restores the events that the file has, so that they are not returned twice.
  void restoreEvent(const MemoryEventRow& row);

 private:
  struct Memory {
    Operation created;
    uint64_t references = 0;  // over all handles
    uint64_t mappings = 0;
    uint64_t address = 0;     // address in its rows
    bool is_foreign = false;  // not allocated by this process, or not recorded: has no rows
    uint32_t commits = 0;     // commits since its creation
  };
  struct Mapping {
    uint64_t bytes = 0;
    uint64_t memory = 0;
  };
  struct Handle {
    uint64_t memory = 0;
    uint64_t references = 0;  // of this handle
  };
  /// The state between two execs of the process: handles and addresses start again.
  struct Life {
    std::unordered_map<uint64_t, Handle> handles;
    std::map<uint64_t, Mapping> mappings;  // by address
    std::set<uint64_t> addresses_in_rows;  // addresses in rows, while the memory lives
    // When rows with these addresses were freed; kept while there is memory without a row. An
    // allocation that gets its row late must not use an address that another one still had when it
    // was created.
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
  void writeRow(Life& life, uint64_t number, uint64_t address);
  static bool isFree(const Life& life, uint64_t address, int64_t since);
  Life& lifeOf(const Operation& op);

  std::vector<Operation> held_;  // not applied yet
  int64_t horizon_ = INT64_MIN;  // all calls up to this stamp have been seen
  std::map<uint32_t, Life> lives_;
  std::map<uint64_t, Memory> memories_;  // by an internal number
  uint64_t last_number_ = 0;
  std::set<uint64_t> without_row_;  // numbers of memories without a row
  std::vector<Event> events_;
  uint64_t unmatched_ = 0;
  std::unordered_map<uint64_t, uint64_t> restored_allocations_;     // correlation id: address
  std::multiset<std::pair<uint64_t, uint64_t>> restored_releases_;  // correlation id, address
};

}  // namespace tracesmith
