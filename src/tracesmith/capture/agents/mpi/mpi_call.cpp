// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/mpi/mpi_call.hpp"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent::mpi {
namespace {

/// Correlation ids of this agent: other agents of the process take theirs elsewhere.
constexpr uint64_t kIdsOfAgent = uint64_t{1} << 40;  // as cuda_file::kIdsOfLife
std::atomic<uint64_t> g_next_id{0};

enum class Arm : int { kUntried, kTrying, kArmed, kNot };
std::atomic<Arm> g_arm{Arm::kUntried};

bool armNow() {
  const char* const session = getenv(arena::kEnvSession);
  if (session == nullptr || *session == 0 || !arm("mpi")) return false;
  const uint64_t first = (firstCorrelation() + kIdsOfAgent - 1) / kIdsOfAgent * kIdsOfAgent;
  takeCorrelations(first + kIdsOfAgent);
  g_next_id.store(first, std::memory_order_relaxed);
  return true;
}

struct Ids {
  uint64_t next = 0;
  uint64_t end = 0;
};
constinit thread_local Ids t_ids __attribute__((tls_model("initial-exec")));

uint64_t nextId() {
  constexpr uint64_t kBatch = 256;
  Ids& ids = t_ids;
  if (ids.next == ids.end) {
    ids.next = g_next_id.fetch_add(kBatch, std::memory_order_relaxed);
    ids.end = ids.next + kBatch;
  }
  return ids.next++;
}

constexpr int kAnyPeer = -2, kNoPeer = -1;

struct RoleIndexes {
  RoleIndex of[static_cast<size_t>(MpiApi::kCount)];
};
constexpr RoleIndexes indexRoles() {
  RoleIndexes all{};
  for (size_t f = 0; f < static_cast<size_t>(MpiApi::kCount); ++f) {
    for (int8_t& at : all.of[f].at) at = -1;
    const char* const roles = kMpiApi[f].roles;
    for (int8_t i = 0; roles[i] != 0; ++i) {
      if (roles[i] == '.') continue;
      int8_t& at = all.of[f].at[roles[i] - 'A'];
      if (at < 0) at = i;
    }
  }
  return all;
}
constexpr RoleIndexes kRoles = indexRoles();

}  // namespace

bool isArmed() {
  Arm state = g_arm.load(std::memory_order_acquire);
  if (state == Arm::kUntried && g_arm.compare_exchange_strong(state, Arm::kTrying)) {
    const int before = errno;
    state = armNow() ? Arm::kArmed : Arm::kNot;
    errno = before;
    g_arm.store(state, std::memory_order_release);
  }
  while (state == Arm::kTrying) {
    sched_yield();
    state = g_arm.load(std::memory_order_acquire);
  }
  return state == Arm::kArmed;
}

int64_t Call::number(char role) const {
  const Word argument = this->argument(role);
  const bool is_large = function_.has_large_counts && (role == 'c' || role == 'k');
  if (language_ == Language::kC) {
    return is_large ? static_cast<int64_t>(argument) : static_cast<int32_t>(argument);
  }
  return is_large ? *reinterpret_cast<const int64_t*>(argument)
                  : *reinterpret_cast<const int*>(argument);
}

int64_t Call::numberAt(Word array, int index) const {
  if (array == 0) return 0;
  return function_.has_large_counts ? reinterpret_cast<const int64_t*>(array)[index]
                                    : reinterpret_cast<const int*>(array)[index];
}

Handle Call::handle(char role, HandleKind kind) const {
  const Word argument = this->argument(role);
  if (language_ == Language::kFortran) {
    return fromFortran(*reinterpret_cast<const int*>(argument), kind);
  }
  return handleBytes() == sizeof(int) ? static_cast<uint32_t>(argument) : argument;
}

Handle Call::handleOut(char role, HandleKind kind) const { return handleInArray(role, 0, kind); }

Handle Call::handleInArray(char role, size_t index, HandleKind kind) const {
  const Word array = argument(role);
  if (array == 0) return 0;
  if (language_ == Language::kFortran) {
    return fromFortran(reinterpret_cast<const int*>(array)[index], kind);
  }
  return handleAt(array + index * handleBytes());
}

bool Call::isInPlace(char role) const {
  const int at = find(role);
  if (at < 0) return false;
  const Constants& c = constants_;
  const Word in_place = language_ == Language::kC ? c.in_place : c.fortran_in_place;
  return in_place != 0 && arguments_[at] == in_place;
}

bool Call::isStatusIgnored(char role) const {
  const Constants& c = constants_;
  const Word at = argument(role);
  if (language_ == Language::kC) return at == c.status_ignore;
  return at == (role == 'u' ? c.fortran_status_ignore : c.fortran_statuses_ignore);
}

Call::Call(MpiApi api, Language language, Word* arguments)
    : api_(api),
      function_(kMpiApi[static_cast<size_t>(api)]),
      arguments_with_(kRoles.of[static_cast<size_t>(api)]),
      constants_(constants()),
      implementation_(implementation()),
      language_(language),
      arguments_(arguments) {
  polls_ = has('f') || api == MpiApi::kTestsome;
  is_recorded_ = isArmed() && ready() && capturing();
  if (is_recorded_ && isBusy(t_state)) {
    countReentrant();
    is_recorded_ = false;
  }
  if (implementation_ != Implementation::kUnknown) {
    keepRequests();
    keepStatus();
    if (api == MpiApi::kComm_free || api == MpiApi::kComm_disconnect) {
      // Before the call: then another thread may get the handle again.
      const Handle freed = handleOut('M', HandleKind::kCommunicator);
      const Communicator* const known = knownCommunicator(freed);
      if (known != nullptr) freed_ = known->number;
      forgetCommunicator(freed);
    }
  }
  if (!is_recorded_) return;
  // Before the call: one that never returns is counted, and shows up as lost.
  if (!polls_) bump(t_state.ring->emitted);
  stack_ = callStack();
  start_ = stamp();
}

Call::~Call() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void Call::makeRoom(size_t requests) {
  if (requests <= kInline) return;
  mapping_bytes_ = requests * (sizeof(Handle) + kStatusBytes);
  void* const p =
      mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    requests_are_cut_ = true;
    return;
  }
  mapping_ = p;
  requests_ = static_cast<Handle*>(p);
  statuses_ = static_cast<unsigned char*>(p) + requests * sizeof(Handle);
}

void Call::keepRequests() {
  if (!is_recorded_) return;
  if (has('q')) {
    requests_[0] = handleOut('q', HandleKind::kRequest);
    request_count_ = 1;
  } else if (has('Q')) {
    const int64_t all = number('n');
    if (all <= 0) return;
    request_count_ = static_cast<size_t>(all);
    const int before = errno;
    makeRoom(request_count_);
    errno = before;
    if (requests_are_cut_) {
      lost_requests_ = request_count_ - kInline;
      request_count_ = kInline;
    }
    for (size_t i = 0; i < request_count_; ++i) {
      requests_[i] = handleInArray('Q', i, HandleKind::kRequest);
    }
  }
}

void Call::keepStatus() {
  if (!is_recorded_ || requests_are_cut_) return;
  const char role = has('u') ? 'u' : 'U';
  if (has(role) && isStatusIgnored(role))
    arguments_[find(role)] = reinterpret_cast<Word>(statuses_);
}

/// Of a function that polls, or that waits for some of several requests.
bool Call::hasCompletedSomething() const {
  if (has('f')) return *reinterpret_cast<const int*>(argument('f')) != 0;
  if (has('x')) return *reinterpret_cast<const int*>(argument('x')) > 0;
  return true;
}

void Call::takeStatus(const void* status, arena::MpiDone& done) const {
  const Status s = statusAt(status);
  done.source = peerOf(s.source);
  done.tag = s.tag;
  done.bytes = s.bytes;
  done.has_status = 1;
}

template <class Add>
void Call::forEachCompleted(Add add) const {
  const Handle null = constants_.null_request;
  const auto addOne = [&](size_t request, char role, size_t status) {
    if (request >= request_count_ || requests_[request] == null ||
        isDoneAtOnce(requests_[request])) {
      return;
    }
    arena::MpiDone done{requests_[request], 0, kNoPeer, -1, 0, 0};
    if (has(role) && !isStatusIgnored(role)) {
      takeStatus(reinterpret_cast<const void*>(argument(role) + status * constants_.status_bytes),
                 done);
    }
    add(done);
  };
  const int first_index = language_ == Language::kFortran ? 1 : 0;
  if (has('q')) {
    addOne(0, 'u', 0);
  } else if (has('X')) {
    const int some = *reinterpret_cast<const int*>(argument('x'));
    for (int i = 0; i < some; ++i) {
      const int index = reinterpret_cast<const int*>(argument('X'))[i] - first_index;
      if (index >= 0) addOne(static_cast<size_t>(index), 'U', static_cast<size_t>(i));
    }
  } else if (has('i')) {
    const int index = *reinterpret_cast<const int*>(argument('i')) - first_index;
    if (index >= 0) addOne(static_cast<size_t>(index), 'u', 0);  // negative: none
  } else if (has('Q')) {
    for (size_t i = 0; i < request_count_; ++i) addOne(i, 'U', i);
  }
}

int Call::peerOf(int64_t rank) const {
  const Constants& c = constants_;
  if (rank == c.no_process) return kNoPeer;
  if (rank == c.any_source) return kAnyPeer;
  return rank < 0 ? kNoPeer : static_cast<int>(rank);
}

void Call::addPeers(arena::MpiCallPart& part) const {
  const bool is_root = has('o');
  if (is_root) {
    part.peer = peerOf(number('o'));
  } else if (has('d')) {
    part.peer = peerOf(number('d'));
  } else if (has('s')) {
    part.peer = peerOf(number('s'));
  }
  // To and from nobody.
  if (has('d') && number('d') == constants_.no_process) part.send_bytes = 0;
  if (has('s') && number('s') == constants_.no_process) part.receive_bytes = 0;
  const char tag = has('g') ? 'g' : 'h';
  const bool receives = function_.kind == CommKind::kReceive || function_.kind == CommKind::kProbe;
  if (has(tag)) {
    const auto value = static_cast<int>(number(tag));
    part.tag = value < 0 ? kAnyPeer : value;
  } else if (receives) {  // of a message that a probe has found
    part.peer = part.tag = kAnyPeer;
  }
  if (!receives || !has('u') || isStatusIgnored('u')) return;
  const Status s = statusAt(reinterpret_cast<const void*>(argument('u')));
  if (part.peer != kNoPeer) {
    part.peer = peerOf(s.source);
    part.tag = s.tag;
  }
  part.receive_bytes = s.bytes;
}

uint64_t Call::sumOfCounts(char counts, int ranks) const {
  const Word array = argument(counts);
  uint64_t sum = 0;
  for (int i = 0; i < ranks; ++i) sum += static_cast<uint64_t>(numberAt(array, i));
  return sum;
}

uint64_t Call::sumOfTypes(char counts, char types, int ranks) const {
  const Word array = argument(counts);
  uint64_t sum = 0;
  for (int i = 0; i < ranks; ++i) {
    const int64_t count = numberAt(array, i);
    if (count <= 0) continue;
    sum += static_cast<uint64_t>(count) *
           sizeOfType(handleInArray(types, static_cast<size_t>(i), HandleKind::kType));
  }
  return sum;
}

uint64_t Call::bytesOf(char count, char type) const {
  const int64_t all = number(count);
  return all <= 0 ? 0 : static_cast<uint64_t>(all) * sizeOfType(handle(type, HandleKind::kType));
}

/// Looks only at arguments that are significant in this rank: others may be anything.
void Call::addBytes(arena::MpiCallPart& part, const Communicator* communicator) const {
  const MpiVolume volume = function_.volume;
  if (volume == MpiVolume::kNone) return;
  const bool sends = function_.kind == CommKind::kSend || has('d');
  if (volume == MpiVolume::kOneWay) {
    if (sends) {
      part.send_bytes = bytesOf('c', 't');
    } else {
      part.receive_bytes = bytesOf('k', 'y');
    }
    return;
  }
  if (volume == MpiVolume::kBothWays) {
    part.receive_bytes = bytesOf('k', 'y');
    part.send_bytes = has('c') ? bytesOf('c', 't') : part.receive_bytes;
    if (!isStatusIgnored('u')) {
      part.receive_bytes = statusAt(reinterpret_cast<const void*>(argument('u'))).bytes;
    }
    return;
  }
  if (communicator != nullptr) addCollectiveBytes(part, *communicator);
}

/// Needs a collective with counts.
void Call::addCollectiveBytes(arena::MpiCallPart& part, const Communicator& communicator) const {
  const MpiVolume volume = function_.volume;
  const auto typeSize = [&](char role) { return sizeOfType(handle(role, HandleKind::kType)); };
  const auto sent = [&] { return bytesOf('c', 't'); };
  const auto received = [&] { return bytesOf('k', 'y'); };
  // Between two groups, arguments are significant in one of them, and roots have other numbers.
  if (communicator.is_between_groups) return;
  const int ranks = communicator.size;
  const auto all = static_cast<uint64_t>(ranks);
  const bool is_root = has('o') && number('o') == communicator.rank;
  const bool keeps_send = isInPlace('b'), keeps_receive = isInPlace('B');
  switch (volume) {
    case MpiVolume::kBroadcast:
      (is_root ? part.send_bytes : part.receive_bytes) = received();
      return;
    case MpiVolume::kReduce:
      part.send_bytes = sent();
      if (is_root) part.receive_bytes = part.send_bytes;
      return;
    case MpiVolume::kReduceAll:
      part.send_bytes = part.receive_bytes = sent();
      return;
    case MpiVolume::kReduceScatter: {
      const uint64_t size = typeSize('t');
      part.send_bytes = sumOfCounts('c', communicator.local_size) * size;
      part.receive_bytes = static_cast<uint64_t>(numberAt(argument('c'), communicator.rank)) * size;
      return;
    }
    case MpiVolume::kReduceScatterBlock:
      part.receive_bytes = sent();
      part.send_bytes = part.receive_bytes * static_cast<uint64_t>(communicator.local_size);
      return;
    case MpiVolume::kGather:
    case MpiVolume::kGatherv:
      if (!keeps_send) part.send_bytes = sent();
      if (!is_root) return;
      part.receive_bytes =
          volume == MpiVolume::kGather ? received() * all : sumOfCounts('k', ranks) * typeSize('y');
      return;
    case MpiVolume::kScatter:
    case MpiVolume::kScatterv:
      if (!keeps_receive) part.receive_bytes = received();
      if (!is_root) return;
      part.send_bytes =
          volume == MpiVolume::kScatter ? sent() * all : sumOfCounts('c', ranks) * typeSize('t');
      return;
    case MpiVolume::kGatherAll:
      part.send_bytes = keeps_send ? received() : sent();
      part.receive_bytes = received() * all;
      return;
    case MpiVolume::kAllToAll:
      part.receive_bytes = received() * all;
      part.send_bytes = keeps_send ? part.receive_bytes : sent() * all;
      return;
    case MpiVolume::kGatherAllv:
      part.receive_bytes = sumOfCounts('k', ranks) * typeSize('y');
      part.send_bytes =
          keeps_send
              ? static_cast<uint64_t>(numberAt(argument('k'), communicator.rank)) * typeSize('y')
              : sent();
      return;
    case MpiVolume::kAllToAllv:
      part.receive_bytes = sumOfCounts('k', ranks) * typeSize('y');
      part.send_bytes = keeps_send ? part.receive_bytes : sumOfCounts('c', ranks) * typeSize('t');
      return;
    case MpiVolume::kAllToAllw:
      part.receive_bytes = sumOfTypes('k', 'y', ranks);
      part.send_bytes = keeps_send ? part.receive_bytes : sumOfTypes('c', 't', ranks);
      return;
    default:
      return;
  }
}

void Call::end(int result) {
  if (is_recorded_) end_ = stamp();
  if (!isArmed() || implementation_ == Implementation::kUnknown) {
    if (is_recorded_) write(result, nullptr, {0, 0, 0, 0, kNoPeer, -1, 0, 0});
    return;
  }
  Communicator* communicator = nullptr;
  const bool ends_library = api_ == MpiApi::kFinalize;
  if (result == 0 && has('m')) {
    const Handle of = handle('m', HandleKind::kCommunicator);
    communicator = findCommunicator(of);
    if (api_ == MpiApi::kComm_set_name) renameCommunicator(of);
  }
  const bool frees = api_ == MpiApi::kComm_free || api_ == MpiApi::kComm_disconnect;
  if (result == 0 && has('M') && !frees) {
    findCommunicator(handleOut('M', HandleKind::kCommunicator));
  }
  if ((api_ == MpiApi::kInit || api_ == MpiApi::kInit_thread) && result == 0) {
    communicator = findCommunicator(constants_.world);
  }
  arena::MpiCallPart part{0, 0, 0, 0, kNoPeer, -1, 0, 0};
  if (communicator != nullptr && function_.kind == CommKind::kCollective) {
    // Also while nothing is recorded: ranks start and stop to record at different times.
    part.sequence =
        1 + communicator->calls[static_cast<size_t>(api_)].fetch_add(1, std::memory_order_relaxed);
  }
  if (!is_recorded_ || ends_library) {
    if (is_recorded_) write(result, communicator, part);
    return;
  }
  if (result == 0) {
    addBytes(part, communicator);
    addPeers(part);
    if (has('r')) part.request = handleOut('r', HandleKind::kRequest);
  }
  write(result, communicator, part);
}

void Call::write(int result, const Communicator* communicator, arena::MpiCallPart part) {
  if (polls_ && (result != 0 || !hasCompletedSomething())) return;
  ThreadState& t = t_state;
  if (!ready()) return;
  if (polls_) bump(t.ring->emitted);
  for (size_t i = 0; i < lost_requests_; ++i) {  // events that are dropped
    bump(t.ring->emitted);
    bump(t.ring->dropped);
  }
  const uint64_t correlation = nextId();
  uint8_t more = 0;  // kMpiMore, from the second record on
  arena::MpiDone done[arena::kMaxMpiDone];
  const auto put = [&] {
    const uint64_t done_bytes = part.done_count * sizeof(arena::MpiDone);
    const uint64_t bytes = sizeof(arena::CallRecord) + sizeof part + done_bytes;
    t.busy = stackPointer();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (more != 0) bump(t.ring->emitted);
    if (uint8_t* const p = reserve(t, bytes)) {
      const uint8_t request = part.request == 0            ? 0
                              : isDoneAtOnce(part.request) ? arena::kMpiDoneAtOnce
                                                           : arena::kMpiRequest;
      const auto flags = static_cast<uint8_t>(request | more);
      const arena::CallRecord record{
          {arena::RecordKind::kMpiCall, flags, static_cast<uint16_t>(bytes / 8),
           static_cast<uint32_t>(api_)},
          start_,
          end_,
          correlation,
          communicator == nullptr ? freed_ : communicator->number,
          result,
          stack_};
      memcpy(p, &record, sizeof record);
      memcpy(p + sizeof record, &part, sizeof part);
      memcpy(p + sizeof record + sizeof part, done, done_bytes);
      commit(t, bytes);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t.busy = 0;
    more = arena::kMpiMore;
    part.done_count = 0;
  };
  if (result == 0 && implementation_ != Implementation::kUnknown) {
    forEachCompleted([&](const arena::MpiDone& each) {
      if (part.done_count == arena::kMaxMpiDone) put();
      done[part.done_count++] = each;
    });
  }
  put();
}

}  // namespace tracesmith::agent::mpi
