// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_mpi.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/mpi_api.hpp"

namespace tracesmith {
namespace {

constexpr uint8_t kMembersAreCut = 1;
constexpr int32_t kAnyPeer = -2;  // of a request, until it has a message; also any tag

const MpiFunction* functionOf(uint32_t number) {
  return number < static_cast<uint32_t>(MpiApi::kCount) ? &kMpiApi[number] : nullptr;
}

/// "0-3,7"
std::string textOf(const std::vector<arena::MpiRun>& runs, bool is_cut) {
  std::string text;
  for (const arena::MpiRun& run : runs) {
    if (!text.empty()) text += ',';
    text += std::to_string(run.first);
    if (run.count > 1) text += '-' + std::to_string(int64_t{run.first} + run.count - 1);
  }
  return is_cut ? text + ",..." : text;
}

}  // namespace

bool RecordedMpi::define(ByteView record) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  return header.kind == arena::RecordKind::kMpiCommunicator ? defineCommunicator(record)
                                                            : defineRequests(record);
}

bool RecordedMpi::defineCommunicator(ByteView record) {
  arena::MpiCommunicatorRecord r;
  if (!takePart(record, r) || r.run_count > arena::kMaxMpiRuns) return false;
  std::vector<arena::MpiRun> runs(r.run_count);
  for (arena::MpiRun& run : runs) {
    if (!takePart(record, run)) return false;
  }
  if (r.name_bytes > record.size()) return false;
  CommunicatorRow row{
      .process_id = process_,
      .name = shared_.delta.strings.intern(asText(record.subspan(0, r.name_bytes))),
      .key = r.key,
      .ranks = r.size,
      .rank = r.rank,
      .members = shared_.delta.strings.intern(textOf(runs, (r.header.flags & kMembersAreCut) != 0)),
      .created_ns = host_ns_(r.time),
      .ordinal = r.header.aux,
      .library = shared_.delta.strings.intern("MPI")};
  const auto [known, is_new] = communicators_.try_emplace(r.header.aux, row);
  if (is_new) {
    known->second.id = idAt<CommunicatorId>(shared_.communicators++);
  } else {  // renamed, or read again
    if (known->second.name == row.name) return true;
    known->second.name = row.name;
  }
  shared_.delta.communicator.push(known->second);
  return true;
}

CommunicatorId RecordedMpi::communicator(uint64_t number) const {
  const auto known = communicators_.find(static_cast<uint32_t>(number));
  return known == communicators_.end() ? CommunicatorId::kNone : known->second.id;
}

bool RecordedMpi::defineRequests(ByteView record) {
  arena::CallRecord call;
  arena::MpiCallPart part;
  if (!takePart(record, call) || !takePart(record, part)) return false;
  const MpiFunction* const function = functionOf(call.header.aux);
  if (function == nullptr || call.result != 0) return function != nullptr;
  const auto api = static_cast<MpiApi>(call.header.aux);
  if ((call.header.flags & arena::kMpiRequest) != 0) {
    const bool receives = function->kind == CommKind::kReceive || api == MpiApi::kRecv_init ||
                          api == MpiApi::kRecv_init_c;
    requests_.define(
        part.request, call.end,
        {call.correlation, communicator(call.stream), part.peer, part.tag, part.send_bytes,
         part.receive_bytes, receives, function->kind == CommKind::kSetup});
  }
  const bool starts = api == MpiApi::kStart || api == MpiApi::kStartall;
  if (!starts && function->kind != CommKind::kCompletion) return true;
  for (uint32_t i = 0; i < part.done_count; ++i) {
    arena::MpiDone done;
    if (!takePart(record, done)) return false;
    const Request* const before = requests_.at(done.request, call.start);
    if (starts) {
      Request now = before == nullptr ? Request() : *before;
      now.correlation = call.correlation;
      requests_.define(done.request, call.end, now);
    } else if (before != nullptr && !before->is_persistent) {
      requests_.define(done.request, call.end, {});  // its handle may come again
    }
  }
  return true;
}

bool RecordedMpi::join(ByteView record, ThreadId thread) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  if (header.kind == arena::RecordKind::kMpiCommunicator) return true;  // define() has taken it
  arena::CallRecord call;
  arena::MpiCallPart part;
  if (!takePart(record, call) || !takePart(record, part)) return false;
  const MpiFunction* const function = functionOf(call.header.aux);
  if (function == nullptr || part.done_count > arena::kMaxMpiDone) return false;
  const StringId name = shared_.delta.strings.intern(function->name);
  const int64_t start_ns = host_ns_(call.start);
  const int64_t duration_ns = host_ns_(call.end) - start_ns;
  const bool is_first = (header.flags & arena::kMpiMore) == 0;
  if (is_first) {
    ++shared_.host_calls;
    shared_.delta.host_call.push({.start_ns = start_ns,
                                  .duration_ns = duration_ns,
                                  .name = name,
                                  .process_id = process_,
                                  .thread_id = thread,
                                  .correlation_id = call.correlation,
                                  .result = call.result,
                                  .kind = CallKind::kOther,
                                  .call_path_id = stacks_.pathOfCall(call.stack)});
  }
  CommRow row{.start_ns = start_ns,
              .duration_ns = duration_ns,
              .function = name,
              .process_id = process_,
              .thread_id = thread,
              .communicator_id = communicator(call.stream),
              .kind = function->kind,
              .sequence = part.sequence,
              .peer = part.peer,
              .tag = part.tag,
              .send_bytes = part.send_bytes,
              .receive_bytes = part.receive_bytes,
              .correlation_id = call.correlation};
  // Bytes are counted once: what a request receives, when it has come.
  const bool is_request = (header.flags & arena::kMpiRequest) != 0;
  if (is_request && function->kind == CommKind::kReceive) row.receive_bytes = 0;
  if (function->kind == CommKind::kSetup) row.send_bytes = row.receive_bytes = 0;
  if (part.done_count == 0) {
    if (is_first) shared_.delta.comm.push(row);
    return true;
  }
  const auto api = static_cast<MpiApi>(call.header.aux);
  const bool starts = api == MpiApi::kStart || api == MpiApi::kStartall;
  for (uint32_t i = 0; i < part.done_count; ++i) {
    arena::MpiDone done;
    if (!takePart(record, done)) return false;
    CommRow each = row;
    const Request* const request = requests_.at(done.request, call.start);
    if (request != nullptr && request->correlation != 0) {
      each.request = request->correlation;
      each.communicator_id = request->communicator;
      each.peer = request->peer;
      each.tag = request->tag;
      if (starts) {
        each.send_bytes = request->send_bytes;
      } else if (request->receives && function->kind == CommKind::kCompletion) {
        each.receive_bytes = done.has_status != 0 ? done.bytes : request->receive_bytes;
        if (request->peer == kAnyPeer && done.has_status != 0) each.peer = done.source;
        if (request->tag == kAnyPeer && done.has_status != 0) each.tag = done.tag;
      }
    }
    shared_.delta.comm.push(each);
  }
  return true;
}

void RecordedMpi::restoreCommunicator(const CommunicatorRow& row) {
  communicators_[row.ordinal] = row;
}

}  // namespace tracesmith
