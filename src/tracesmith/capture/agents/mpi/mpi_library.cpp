// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <string.h>

#include <atomic>
#include <new>

namespace tracesmith::agent::mpi {
namespace {

/// Paths of loaded libraries whose names have "mpi" in them.
struct Paths {
  static constexpr size_t kMost = 24, kBytes = 256;
  char path[kMost][kBytes];
  size_t count = 0;
};

/// A Python module loads its MPI library where others do not see it. The library of Fortran's
/// functions is another one.
void* findInAnyLibrary(const char* name) {
  Paths paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        auto* const found = static_cast<Paths*>(out);
        const char* const path = info->dlpi_name;
        if (path == nullptr || strstr(path, "mpi") == nullptr ||
            strstr(path, "libtracesmith-") != nullptr || strlen(path) >= Paths::kBytes) {
          return 0;
        }
        strcpy(found->path[found->count++], path);
        return found->count == Paths::kMost ? 1 : 0;
      },
      &paths);
  // Not in the callback: it holds a lock that dlopen() takes later than its own.
  for (size_t i = 0; i < paths.count; ++i) {
    void* const library = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const function = dlsym(library, name);
    dlclose(library);  // loaded still, by whom it was
    if (function != nullptr) return function;
  }
  return nullptr;
}

template <class F>
F functionNamed(const char* name) {
  return reinterpret_cast<F>(findFunction(name));
}

struct Functions {
  int (*type_size)(Word, int*) = nullptr;
  int (*test_inter)(Word, int*) = nullptr;
  int (*size)(Word, int*) = nullptr;
  int (*rank)(Word, int*) = nullptr;
  int (*remote_size)(Word, int*) = nullptr;
  int (*group)(Word, void*) = nullptr;
  int (*remote_group)(Word, void*) = nullptr;
  int (*translate)(Word, int, const int*, Word, int*) = nullptr;
  int (*group_free)(void*) = nullptr;
  int (*get_name)(Word, char*, int*) = nullptr;
  int (*initialized)(int*) = nullptr;
  int (*finalized)(int*) = nullptr;
  int (*type_size_x)(Word, long long*) = nullptr;  // not in old libraries
  Word (*f2c[3])(int) = {};
};

struct Library {
  Implementation implementation = Implementation::kUnknown;
  Constants constants;
  Functions functions;
  bool is_complete = false;
  Handle empty_request = 0;  // Open MPI's

  Library();
  void describeOpenMpi();
  void describeMpich();
};

/// Where a variable of the library is: a program can have a copy of it that the library uses.
Word addressOf(const char* name) {
  void* const first = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Word>(first != nullptr ? first : findFunction(name));
}
/// The value of a pointer variable.
Word variable(const char* name) {
  const Word at = addressOf(name);
  return at == 0 ? 0 : *reinterpret_cast<const Word*>(at);
}

Library::Library() {
  Functions& f = functions;
  f.type_size = functionNamed<int (*)(Word, int*)>("PMPI_Type_size");
  f.test_inter = functionNamed<int (*)(Word, int*)>("PMPI_Comm_test_inter");
  f.size = functionNamed<int (*)(Word, int*)>("PMPI_Comm_size");
  f.rank = functionNamed<int (*)(Word, int*)>("PMPI_Comm_rank");
  f.remote_size = functionNamed<int (*)(Word, int*)>("PMPI_Comm_remote_size");
  f.group = functionNamed<int (*)(Word, void*)>("PMPI_Comm_group");
  f.remote_group = functionNamed<int (*)(Word, void*)>("PMPI_Comm_remote_group");
  f.translate =
      functionNamed<int (*)(Word, int, const int*, Word, int*)>("PMPI_Group_translate_ranks");
  f.group_free = functionNamed<int (*)(void*)>("PMPI_Group_free");
  f.get_name = functionNamed<int (*)(Word, char*, int*)>("PMPI_Comm_get_name");
  f.initialized = functionNamed<int (*)(int*)>("PMPI_Initialized");
  f.finalized = functionNamed<int (*)(int*)>("PMPI_Finalized");
  f.type_size_x = functionNamed<int (*)(Word, long long*)>("PMPI_Type_size_x");
  is_complete = f.type_size != nullptr && f.test_inter != nullptr && f.size != nullptr &&
                f.rank != nullptr && f.remote_size != nullptr && f.group != nullptr &&
                f.remote_group != nullptr && f.translate != nullptr && f.group_free != nullptr &&
                f.get_name != nullptr && f.initialized != nullptr && f.finalized != nullptr;
  const auto version = functionNamed<int (*)(char*, int*)>("PMPI_Get_library_version");
  if (!is_complete || version == nullptr) return;
  // The standard ABI of MPI 5 has other handles and statuses.
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(f.type_size), &info) != 0 && info.dli_fname != nullptr &&
      strstr(info.dli_fname, "_abi") != nullptr) {
    return;
  }
  char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH
  int length = 0;
  if (version(text, &length) != 0) return;
  if (strstr(text, "Open MPI") != nullptr) {
    describeOpenMpi();
  } else if (strstr(text, "MPICH") != nullptr || strstr(text, "MVAPICH") != nullptr ||
             strstr(text, "Intel(R) MPI") != nullptr) {
    describeMpich();
  }
}

void Library::describeOpenMpi() {
  constants = {.world = addressOf("ompi_mpi_comm_world"),
               .null_communicator = addressOf("ompi_mpi_comm_null"),
               .null_request = addressOf("ompi_request_null"),
               .any_source = -1,
               .no_process = -2,
               .status_ignore = 0,
               .in_place = 1,
               .status_bytes = 24,
               .fortran_in_place = addressOf("mpi_fortran_in_place_")};
  empty_request = addressOf("ompi_request_empty");
  functions.f2c[0] = functionNamed<Word (*)(int)>("PMPI_Comm_f2c");
  functions.f2c[1] = functionNamed<Word (*)(int)>("PMPI_Type_f2c");
  functions.f2c[2] = functionNamed<Word (*)(int)>("PMPI_Request_f2c");
  if (functions.f2c[0] == nullptr || functions.f2c[1] == nullptr || functions.f2c[2] == nullptr) {
    return;
  }
  constants.fortran_status_ignore = variable("MPI_F_STATUS_IGNORE");
  constants.fortran_statuses_ignore = variable("MPI_F_STATUSES_IGNORE");
  if (constants.world != 0) implementation = Implementation::kOpenMpi;
}

void Library::describeMpich() {
  constants = {.world = 0x44000000,
               .null_communicator = 0x04000000,
               .null_request = 0x2c000000,
               .any_source = -2,
               .no_process = -1,
               .status_ignore = 1,
               .in_place = ~Word{0},
               .status_bytes = 20};
  implementation = Implementation::kMpich;
}

const Library& library() {
  // Not a function's static: the agent is compiled without their locks.
  alignas(Library) static unsigned char place[sizeof(Library)];
  enum State : int { kNone, kMaking, kMade };
  static std::atomic<int> state{kNone};
  int now = state.load(std::memory_order_acquire);
  if (now == kNone && state.compare_exchange_strong(now, kMaking, std::memory_order_acq_rel)) {
    new (place) Library();
    state.store(kMade, std::memory_order_release);
    now = kMade;
  }
  while (now != kMade) {
    sched_yield();
    now = state.load(std::memory_order_acquire);
  }
  return *std::launder(reinterpret_cast<const Library*>(place));
}

}  // namespace

void* findFunction(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  return next != nullptr ? next : findInAnyLibrary(name);
}

Implementation implementation() { return library().implementation; }
const Constants& constants() { return library().constants; }

Status statusAt(const void* status) {
  int words[6];
  Status result;
  if (implementation() == Implementation::kOpenMpi) {
    memcpy(words, status, 24);  // source, tag, error, cancelled, bytes as size_t
    result.source = words[0];
    result.tag = words[1];
    memcpy(&result.bytes, words + 4, sizeof result.bytes);
  } else {
    memcpy(words, status, 20);  // low bytes, high bytes and cancelled, source, tag, error
    result.source = words[2];
    result.tag = words[3];
    result.bytes = static_cast<uint32_t>(words[0]) |
                   static_cast<uint64_t>(static_cast<uint32_t>(words[1]) >> 1) << 32;
  }
  return result;
}

size_t handleBytes() {
  return implementation() == Implementation::kOpenMpi ? sizeof(void*) : sizeof(int);
}

bool isDoneAtOnce(Handle request) {
  if (implementation() == Implementation::kOpenMpi) return request == library().empty_request;
  return (request >> 30) == 1;  // MPICH's kind of handle for what the library makes in advance
}

Handle handleAt(Word address) {
  Handle handle = 0;
  memcpy(&handle, reinterpret_cast<const void*>(address), handleBytes());
  return handle;
}

Handle fromFortran(int handle, HandleKind kind) {
  if (implementation() != Implementation::kOpenMpi) return static_cast<uint32_t>(handle);
  return library().functions.f2c[static_cast<size_t>(kind)](handle);
}

uint64_t sizeOfType(Handle type) {
  // MPICH's handles of basic types contain the size.
  if ((type & 0xff000000) == 0x4c000000 && implementation() == Implementation::kMpich) {
    return type >> 8 & 0xff;
  }
  if (const auto size_x = library().functions.type_size_x) {
    long long size = 0;
    return size_x(type, &size) == 0 && size > 0 ? static_cast<uint64_t>(size) : 0;
  }
  int size = 0;
  return library().functions.type_size(type, &size) == 0 && size > 0 ? static_cast<uint64_t>(size)
                                                                     : 0;
}

bool isBetweenGroups(Handle communicator) {
  int is = 0;
  return library().functions.test_inter(communicator, &is) == 0 && is != 0;
}

int sizeOf(Handle communicator) {
  int size = 0;
  return library().functions.size(communicator, &size) == 0 ? size : 0;
}

int rankIn(Handle communicator) {
  int rank = 0;
  return library().functions.rank(communicator, &rank) == 0 ? rank : -1;
}

int remoteSizeOf(Handle communicator) {
  int size = 0;
  return library().functions.remote_size(communicator, &size) == 0 ? size : 0;
}

bool hasWorld() {
  int is = 0, was = 0;
  const Functions& f = library().functions;
  return f.initialized(&is) == 0 && is != 0 && f.finalized(&was) == 0 && was == 0;
}

bool membersOf(Handle communicator, bool remote, int count, int* ranks, int* scratch) {
  const Functions& f = library().functions;
  Word members = 0, world = 0;
  if ((remote ? f.remote_group : f.group)(communicator, &members) != 0) return false;
  bool known = f.group(library().constants.world, &world) == 0;
  if (known) {
    for (int i = 0; i < count; ++i) scratch[i] = i;
    known = f.translate(members, count, scratch, world, ranks) == 0;
    f.group_free(&world);
  }
  f.group_free(&members);
  return known;
}

size_t nameOf(Handle communicator, char* name, size_t room) {
  char text[512] = "";  // MPI_MAX_OBJECT_NAME is 64 to 128
  int length = 0;
  if (library().functions.get_name(communicator, text, &length) != 0 || length <= 0) return 0;
  const size_t kept = static_cast<size_t>(length) < room ? static_cast<size_t>(length) : room;
  memcpy(name, text, kept);
  return kept;
}

}  // namespace tracesmith::agent::mpi
