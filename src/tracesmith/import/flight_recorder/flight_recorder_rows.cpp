// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/flight_recorder_rows.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/flight_recorder/flight_recorder_fields.hpp"
#include "tracesmith/import/json/json_walker.hpp"
#include "tracesmith/import/json/source_member.hpp"
#include "tracesmith/model/names/data_type_names.hpp"

namespace tracesmith::import {
namespace {

namespace ff = flight_field;

constexpr std::string_view kSection = "flight_recorder";
constexpr HeldField kHeldTime[] = {{ff::kCreated, SourceGap::kTimeNanos}};
/// A dump does not say which process wrote it.
constexpr int64_t kUnknownProcess = 0;

/// "all_reduce" of "nccl:all_reduce", and what PyTorch says about the peer: "nccl:send 1->2",
/// "nccl:recv 3<-0", "gloo:recv 3<-?".
struct ProfilingName {
  explicit ProfilingName(std::string_view text) {
    const size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      backend = text.substr(0, colon);
      text.remove_prefix(colon + 1);
    }
    operation = text.substr(0, text.find(' '));
    const size_t arrow = std::min(text.find("->"), text.find("<-"));
    if (arrow == std::string_view::npos) return;
    const std::string_view other = text.substr(arrow + 2);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(other.data(), other.data() + other.size(), number);
    if (error == std::errc() && number >= 0) peer = number;
  }
  std::string_view backend, operation;
  int64_t peer = -1;
};

/// Only the watchdog of NCCL's backend follows the state; others leave it as it was at first.
CommState commState(std::string_view text, bool is_nccl) {
  if (text == "scheduled") return is_nccl ? CommState::kScheduled : CommState::kUnknown;
  if (text == "started") return CommState::kStarted;
  if (text == "completed") return CommState::kCompleted;
  return CommState::kUnknown;
}

/// The product of a list of sizes. Sizes that no tensor has count as 0.
uint64_t elementsOf(std::string_view sizes) {
  uint64_t elements = 1;
  forElements(sizes, [&](const JsonToken& size) {
    if (__builtin_mul_overflow(elements, positive(size.integer()), &elements)) elements = 0;
  });
  return elements;
}

}  // namespace

FlightRecorderRows::FlightRecorderRows(TraceBuilder& builder, std::optional<uint32_t> rank)
    : builder_(builder),
      records_(ff::flightFieldOf, ff::kFields),
      call_paths_(builder),
      rank_(rank) {}

void FlightRecorderRows::member(std::string_view name, std::string_view raw) {
  keepSourceMember(name, raw, [&](const std::string& key, std::string_view value) {
    builder_.setMetadata(key, value);
  });
  if (name == "pg_config") groups(raw);
}

/// {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}, ...}
void FlightRecorderRows::groups(std::string_view raw) {
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    Group group;
    forMembers(value.raw, [&](std::string_view member, const JsonToken& token) {
      if (member == "desc" && token.text) group.description = textOf(token, room_);
      if (member == "ranks") group.ranks = RankList::read(textOf(token, room_));
    });
    group.name = key;
    groups_[group.name] = std::move(group);
  });
}

std::string FlightRecorderRows::text(int number) {
  return field(number).text ? std::string(textOf(field(number), room_)) : std::string();
}

/// nullopt: there is none. Dumps in JSON have 0 then, those in pickle None.
std::optional<int64_t> FlightRecorderRows::timeOf(int nanos, int micros) {
  int64_t ns = 0;
  // Only plain digits can be restored from the column.
  const JsonToken& plain = field(nanos);
  const bool is_plain = !plain.text && !plain.raw.empty() && plain.raw.front() != '0' &&
                        plain.raw.find_first_not_of("0123456789") == std::string_view::npos;
  const bool read = is_plain ? plain.nanoseconds(1, ns) : field(micros).nanoseconds(1000, ns);
  return read && ns != 0 ? std::optional(ns) : std::nullopt;
}

FlightRecorderRows::Tensors FlightRecorderRows::tensors(int sizes, int types) {
  Tensors all;
  std::vector<uint64_t> bytes_of;
  forElements(field(types).raw, [&](const JsonToken& type) {
    const std::string_view plain = plainDataType(type.raw);
    if (bytes_of.empty()) all.type = plain;
    bytes_of.push_back(dataTypeBytes(plain));
  });
  size_t at = 0;
  forElements(field(sizes).raw, [&](const JsonToken& tensor) {
    const uint64_t elements = elementsOf(tensor.raw);
    uint64_t bytes = 0;
    // A type for each tensor, or one for all of them.
    const uint64_t size = bytes_of.empty() ? 0 : bytes_of[std::min(at++, bytes_of.size() - 1)];
    if (__builtin_mul_overflow(elements, size, &bytes)) bytes = 0;
    all.elements += elements;
    all.bytes += bytes;
  });
  return all;
}

CommunicatorId FlightRecorderRows::communicator(std::string_view backend, int64_t created_ns) {
  std::vector<std::string> names;  // ["0", "default_pg"]; older dumps have the name only
  if (field(ff::kGroup).text) names.push_back(text(ff::kGroup));
  forElements(field(ff::kGroup).raw, [&](const JsonToken& token) {
    if (token.text) names.emplace_back(textOf(token, room_));
  });
  if (names.empty() && !field(ff::kGroupId)) return CommunicatorId::kNone;
  const std::string name = names.empty() ? std::string() : names[0];
  const std::string library(libraryOfBackend(backend));
  const std::string number(field(ff::kGroupId).raw);
  const auto [it, fresh] = communicators_.try_emplace({name, library, number});
  if (!fresh) return it->second;
  it->second = idAt<CommunicatorId>(communicators_.size() - 1);
  const auto known = groups_.find(name);
  const bool has_ranks = known != groups_.end() && known->second.ranks;
  const RankList* const ranks = has_ranks ? &*known->second.ranks : nullptr;
  if (ranks == nullptr) ++without_ranks_;
  std::string shown = names.size() > 1         ? names[1]
                      : known != groups_.end() ? known->second.description
                                               : std::string();
  if (shown.empty() || shown == "undefined") shown = name;
  builder_.rows.communicator.push(
      {.id = it->second,
       .process_id = builder_.process(kUnknownProcess),
       .name = builder_.text(shown),
       // Without a name nothing is equal on all members: pg_id counts in each process.
       .key = names.empty() ? 0 : communicatorKey(name, ranks),
       .ranks = ranks == nullptr ? 0 : small(static_cast<int64_t>(ranks->size())),
       .rank = ranks != nullptr && rank_ ? ranks->placeOf(*rank_) : -1,
       .members = ranks == nullptr ? StringId::kNone : builder_.text(ranks->text()),
       .created_ns = created_ns,
       .ordinal = static_cast<uint32_t>(communicators_.size()),
       .library = builder_.text(library)});
  builder_.added();
  return it->second;
}

/// [{"name": "all_reduce", "filename": "distributed_c10d.py", "line": 4174}, ...], the innermost
/// frame first.
CallPathId FlightRecorderRows::callPath() {
  const std::string_view raw = field(ff::kFrames).raw;
  if (raw.empty()) return CallPathId::kNone;
  if (const auto known = paths_.find(raw); known != paths_.end()) return known->second;
  std::vector<FrameId> frames;
  forElements(raw, [&](const JsonToken& element) {
    FrameRow frame;
    forMembers(element.raw, [&](std::string_view key, const JsonToken& value) {
      if (key == "name" && value.text) frame.function = builder_.text(textOf(value, room_));
      if (key == "filename" && value.text) frame.file = builder_.text(textOf(value, room_));
      if (key == "line") frame.line = small(value.integer());
    });
    frames.push_back(call_paths_.frame(frame));
  });
  CallPathId path = CallPathId::kNone;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    path = call_paths_.path(path, *frame);
  }
  paths_.emplace(raw, path);
  return path;
}

/// A number for calls that were enqueued together: they have the same numbers in their group, and
/// follow each other.
uint64_t FlightRecorderRows::groupOf(const CommRow& row) {
  const std::tuple<CommunicatorId, int64_t, int64_t> numbers = {
      row.communicator_id, field(ff::kSequence).integer(-1), field(ff::kP2pSequence).integer(-1)};
  CommTable& before = builder_.rows.comm;
  const bool together = std::exchange(last_group_, numbers) == numbers && !before.empty();
  if (!together) return 0;
  uint64_t& group = before.group_id.back();
  if (group == 0) group = before.correlation_id.back();
  return group;
}

/// When the call moved data: between the moments at which PyTorch's watchdog noticed its start and
/// its end, unless events of the device measured how long it took.
void FlightRecorderRows::work(const CommRow& row) {
  const std::optional<int64_t> started = timeOf(ff::kStarted, ff::kStartedMicros);
  const std::optional<int64_t> completed = timeOf(ff::kCompleted, ff::kCompletedMicros);
  const std::optional<double> milliseconds = realNumber(field(ff::kDuration).raw);
  if (!completed || (!started && !milliseconds)) return;
  CommWorkRow work{.process_id = row.process_id,
                   .correlation_id = row.correlation_id,
                   .kind = CommWorkKind::kOperation,
                   .timing_source = TimingSource::kHost,
                   .peer = -1};
  if (milliseconds) {
    const double ns = *milliseconds * 1e6;
    if (!(ns >= 0 && ns <= static_cast<double>(SpansOfSource::kLongestNs))) {
      spans_.lasting(ns < 0 ? -1 : INT64_MAX);  // counts it
      return;
    }
    work.timing_source = TimingSource::kDeviceEvents;
    work.duration_ns = std::llround(ns);
    work.start_ns = started ? *started : wrappingDifference(*completed, work.duration_ns);
  } else {
    work.start_ns = *started;
    work.duration_ns = spans_.between(*started, completed);
  }
  if (!spans_.isTime(work.start_ns)) return;
  builder_.rows.comm_work.push(work);
  builder_.added();
}

void FlightRecorderRows::comm(int64_t created_ns) {
  const std::string profiling_name = text(ff::kName);
  const ProfilingName name(profiling_name);
  const TorchCollective of = torchCollective(name.operation);
  const std::string_view library = libraryOfBackend(name.backend);
  const bool is_nccl = library == "NCCL" || library == "RCCL";
  const int64_t tid = field(ff::kThreadId).integer();
  const ThreadId thread = builder_.thread(kUnknownProcess, tid);
  const std::string thread_name = text(ff::kThreadName);
  if (!thread_name.empty() && named_threads_.insert(tid).second) {
    builder_.nameThread(kUnknownProcess, tid, thread_name);
  }
  const Tensors in = tensors(ff::kInputSizes, ff::kInputTypes);
  const Tensors out = tensors(ff::kOutputSizes, ff::kOutputTypes);
  const bool counts_out = of.nccl == "ncclReduceScatter" || of.nccl == "ncclRecv";
  const std::string_view type = in.type.empty() ? out.type : in.type;
  CommRow row{.start_ns = created_ns,
              .function = builder_.text(is_nccl && !of.nccl.empty() ? of.nccl : name.operation),
              .process_id = builder_.process(kUnknownProcess),
              .thread_id = thread,
              .communicator_id = communicator(name.backend, created_ns),
              .kind = of.kind,
              .peer = name.peer,
              .tag = -1,
              .correlation_id = ++correlation_,
              .element_count = counts_out ? out.elements : in.elements,
              .data_type = type.empty() ? StringId::kNone : builder_.text(type),
              .state = commState(text(ff::kState), is_nccl)};
  if (row.kind == CommKind::kCollective) row.sequence = positive(field(ff::kSequence).integer());
  setTensorBytes(row, of, in.bytes, out.bytes, false);
  row.group_id = groupOf(row);
  builder_.rows.comm.push(row);
  records_.keep(builder_, TableId::kComm, kSection, kHeldTime);
  builder_.rows.host_call.push({.start_ns = created_ns,
                                .name = builder_.text(profiling_name),
                                .process_id = row.process_id,
                                .thread_id = thread,
                                .correlation_id = row.correlation_id,
                                .call_path_id = callPath()});
  work(row);
  ++rows_;
  builder_.added(2);
}

bool FlightRecorderRows::entry(std::string_view raw) {
  if (!records_.read(raw) || !field(ff::kName).text) return false;
  ++entries_;
  const std::optional<int64_t> created = timeOf(ff::kCreated, ff::kCreatedMicros);
  if (created && spans_.isTime(*created)) {
    if (rows_ == 0) builder_.unixTime(*created, *created);
    comm(*created);
    return true;
  }
  records_.keep(builder_, SourceRows::kNone, kSection, {});
  builder_.added();
  return true;
}

std::vector<std::string> FlightRecorderRows::notes() const {
  std::vector<std::string> notes;
  if (entries_ > rows_) {
    notes.push_back(fmt::format(
        "{} entries have no readable time: they are kept unchanged, but are in no table",
        entries_ - rows_));
  }
  if (without_ranks_ > 0) {
    notes.push_back(
        fmt::format("the dump does not list the ranks of {} process groups", without_ranks_));
  }
  if (!rank_ && rows_ > 0) {
    notes.push_back(
        "the rank of the process is unknown: dumps do not contain it, and the name of the file has "
        "no number after \"rank\", as nccl_trace_rank_3 has");
  }
  return notes;
}

}  // namespace tracesmith::import
