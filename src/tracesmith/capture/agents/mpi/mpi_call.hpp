// SPDX-License-Identifier: Apache-2.0
// One call of the program to MPI, from before it goes to the library until it is in the ring.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/mpi/communicators.hpp"
#include "tracesmith/capture/agents/mpi/mpi_library.hpp"
#include "tracesmith/capture/protocol/mpi_records.hpp"

namespace tracesmith::agent::mpi {

enum class Language : bool { kC, kFortran };

/// Where the argument with each role is, by the role's letter minus 'A'.
struct RoleIndex {
  int8_t at['z' - 'A' + 1];
};

class Call {
 public:
  /// `arguments` may be changed: a status that the program ignores is asked for.
  Call(MpiApi api, Language language, Word* arguments);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// The library has returned `result`.
  void end(int result);

 private:
  /// Index of the first argument with this role, or -1.
  int find(char role) const { return arguments_with_.at[role - 'A']; }
  bool has(char role) const { return find(role) >= 0; }
  Word argument(char role) const { return arguments_[find(role)]; }
  int64_t number(char role) const;
  int64_t numberAt(Word array, int index) const;
  Handle handle(char role, HandleKind kind) const;
  Handle handleOut(char role, HandleKind kind) const;
  Handle handleInArray(char role, size_t index, HandleKind kind) const;
  bool isInPlace(char role) const;
  bool isStatusIgnored(char role) const;

  void makeRoom(size_t requests);
  void keepRequests();
  void keepStatus();
  bool hasCompletedSomething() const;
  /// Calls add(MpiDone) for each request that the call has completed; of Start and the like for
  /// those that it has started.
  template <class Add>
  void forEachCompleted(Add add) const;
  void takeStatus(const void* status, arena::MpiDone& done) const;
  void addBytes(arena::MpiCallPart& part, const Communicator* communicator) const;
  void addCollectiveBytes(arena::MpiCallPart& part, const Communicator& communicator) const;
  /// A count times the size of a type.
  uint64_t bytesOf(char count, char type) const;
  uint64_t sumOfCounts(char counts, int ranks) const;
  uint64_t sumOfTypes(char counts, char types, int ranks) const;
  void addPeers(arena::MpiCallPart& part) const;
  int peerOf(int64_t rank) const;
  void write(int result, const Communicator* communicator, arena::MpiCallPart part);

  MpiApi api_;
  const MpiFunction& function_;
  const RoleIndex& arguments_with_;
  const Constants& constants_;
  const Implementation implementation_;
  Language language_;
  Word* arguments_;
  bool is_recorded_ = false;
  bool polls_ = false;  // counts only if it completes something
  uint32_t stack_ = 0;
  int64_t start_ = 0;
  int64_t end_ = 0;
  uint32_t freed_ = 0;  // number of the communicator that the call frees
  // Requests before the call, which sets them to null.
  static constexpr size_t kInline = 16, kStatusBytes = 24;
  size_t request_count_ = 0;
  bool requests_are_cut_ = false;  // no memory for them
  size_t lost_requests_ = 0;
  Handle own_requests_[kInline];
  alignas(8) unsigned char own_statuses_[kInline * kStatusBytes];
  Handle* requests_ = own_requests_;
  unsigned char* statuses_ = own_statuses_;
  void* mapping_ = nullptr;  // for more of them
  size_t mapping_bytes_ = 0;
};

/// Whether calls are recorded at all; arms the agent in the first one.
bool isArmed();

}  // namespace tracesmith::agent::mpi
