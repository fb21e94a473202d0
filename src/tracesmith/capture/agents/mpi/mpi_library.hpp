// SPDX-License-Identifier: Apache-2.0
// The MPI library of the program, without its header: implementations differ in what handles and
// statuses are. Open MPI's handles are pointers; those of MPICH and its relatives (Intel MPI,
// MVAPICH) are ints. An argument of any function fits a machine word, in registers and on the
// stack.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/protocol/mpi_api.hpp"

namespace tracesmith::agent::mpi {

using Word = uintptr_t;
/// A handle as its bits: a pointer, or an int without sign.
using Handle = uint64_t;

enum class Implementation : uint8_t {
  kUnknown,  // calls are recorded, their arguments are not looked at
  kOpenMpi,
  kMpich,
};

/// The implementation that the program uses. Looked up once; call from within an MPI call.
Implementation implementation();

/// The program's function of this name ("PMPI_Send", "pmpi_send_"), or null.
void* findFunction(const char* name);

/// Values of the implementation.
struct Constants {
  Handle world = 0;  // MPI_COMM_WORLD
  Handle null_communicator = 0;
  Handle null_request = 0;
  int any_source = 0;
  int no_process = 0;       // MPI_PROC_NULL
  Word status_ignore = 0;   // also MPI_STATUSES_IGNORE
  Word in_place = 0;        // MPI_IN_PLACE
  size_t status_bytes = 0;  // of an MPI_Status
  // In Fortran.
  Word fortran_status_ignore = 0;
  Word fortran_statuses_ignore = 0;
  Word fortran_in_place = 0;
};
const Constants& constants();

struct Status {
  int source = 0;
  int tag = 0;
  uint64_t bytes = 0;
};
Status statusAt(const void* status);

/// What the argument of a call points to.
Handle handleAt(Word address);
/// Handles of Fortran are ints.
enum class HandleKind { kCommunicator, kType, kRequest };
Handle fromFortran(int handle, HandleKind kind);
/// The bytes between the handles of an array.
size_t handleBytes();
/// Whether a request is one that many calls share, because what they started was done at once.
bool isDoneAtOnce(Handle request);

// Questions to the library that need no other process. Call them only with handles that a
// successful call has used.
/// Bytes of a type; 0 if there are none or too many.
uint64_t sizeOfType(Handle type);
bool isBetweenGroups(Handle communicator);
int sizeOf(Handle communicator);
int rankIn(Handle communicator);
int remoteSizeOf(Handle communicator);
/// Whether there is an MPI_COMM_WORLD: a program can use sessions (MPI 4) instead.
bool hasWorld();
/// The ranks in MPI_COMM_WORLD of the members, negative for those of other worlds. `ranks` has room
/// for all of them, `scratch` for as many more. False: not known.
bool membersOf(Handle communicator, bool remote, int count, int* ranks, int* scratch);
/// The length of the name, which is cut where `room` ends.
size_t nameOf(Handle communicator, char* name, size_t room);

}  // namespace tracesmith::agent::mpi
