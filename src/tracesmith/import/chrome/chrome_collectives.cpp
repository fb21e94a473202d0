// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_collectives.hpp"

#include <algorithm>

#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/common/torch_collectives.hpp"
#include "tracesmith/import/json/json_walker.hpp"
#include "tracesmith/model/names/data_type_names.hpp"

namespace tracesmith::import {
namespace {

std::string textOfToken(const JsonToken& token, std::string& room) {
  return std::string(token.text ? textOf(token, room) : token.raw);
}

}  // namespace

/// {"backend": "nccl", "rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1], …}]}
void ChromeCollectives::member(std::string_view name, std::string_view raw) {
  if (name != "distributedInfo") return;
  std::string copy(raw);
  copy.append(kJsonPadding, '\0');
  forMembers({copy.data(), raw.size()}, [&](std::string_view key, const JsonToken& value) {
    if (key == "rank" && value.type == JsonType::kInteger) rank_ = value.integer();
    if (key == "backend" && value.text) backend_ = textOf(value, room_);
    if (key != "pg_config") return;
    forElements(value.raw, [&](const JsonToken& element) {
      std::string group;
      std::optional<RankList> ranks;
      forMembers(element.raw, [&](std::string_view member, const JsonToken& token) {
        if (member == "pg_name") group = textOfToken(token, room_);
        if (member == "ranks") ranks = RankList::read(textOfToken(token, room_));
      });
      if (ranks) described_.insert_or_assign(group, std::move(*ranks));
    });
  });
}

StringId ChromeCollectives::text(const ChromeEvent& event, EventField field) {
  const JsonToken& token = event[field];
  return token ? delta_.strings.intern(token.text ? textOf(token, room_) : token.raw)
               : StringId::kNone;
}

void ChromeCollectives::event(const ChromeEvent& event, TableId table, int64_t start_ns,
                              int64_t duration_ns) {
  Collective of{.name = text(event, EventField::kArgCollective),
                .group = text(event, EventField::kArgGroupName),
                .description = text(event, EventField::kArgGroupDescription),
                .ranks = text(event, EventField::kArgGroupRanks),
                .data_type = text(event, EventField::kArgDataType),
                .in = positive(event[EventField::kArgInElements].integer()),
                .out = positive(event[EventField::kArgOutElements].integer()),
                .group_size = event[EventField::kArgGroupSize].integer(),
                .sequence = positive(event[EventField::kArgCollectiveSequence].integer()),
                .start_ns = start_ns,
                .duration_ns = duration_ns};
  const bool is_kernel = table == TableId::kKernel;
  if (is_kernel) {
    const ChromeTracks::Work at = tracks_.workOf(event);
    of.process = at.process;
    of.thread = at.thread;
    of.correlation = at.correlation;
  } else {
    // "wait" and "init" move no data.
    if (torchCollective(delta_.text(of.name)).kind == CommKind::kOther) return;
    of.rank = event[EventField::kArgRank].integer(-1);
    of.process = tracks_.process(event[EventField::kProcess]);
    of.thread = tracks_.thread(of.process, event[EventField::kThread]);
  }
  callOf(event[EventField::kArgExternalId].integer(), of, is_kernel);
}

/// Adds to the call with this id, or makes a new one. An id is of one operator.
void ChromeCollectives::callOf(int64_t external, const Collective& of, bool is_kernel) {
  const size_t next = calls_.size();
  const auto [known, fresh] = external <= 0 ? std::pair(by_external_id_.end(), true)
                                            : by_external_id_.try_emplace(external, next);
  const bool is_of_other = !fresh && calls_[known->second].of.name != of.name;
  const size_t at = fresh || is_of_other ? next : known->second;
  if (at == next) {
    calls_.push_back({.of = of, .work = {}});
    if (is_kernel) calls_.back().of.duration_ns = 0;  // until the operator comes, if it does
  } else if (!is_kernel) {
    const uint64_t correlation = calls_[at].of.correlation;
    calls_[at].of = of;
    calls_[at].of.correlation = correlation;
  }
  if (!is_kernel) return;
  Call& call = calls_[at];
  if (call.of.correlation == 0) call.of.correlation = of.correlation;
  const int64_t end = endOf(of.start_ns, of.duration_ns);
  if (!call.work) {
    call.work = {of.start_ns, end, of.correlation};
    return;
  }
  call.work->start_ns = std::min(call.work->start_ns, of.start_ns);
  call.work->end_ns = std::max(call.work->end_ns, end);
}

/// nullptr: unknown. Kineto abbreviates long lists; distributedInfo may have all of it.
const RankList* ChromeCollectives::groupRanks(const Collective& of) {
  auto [known, fresh] = read_.try_emplace(of.ranks);
  if (fresh) known->second = RankList::read(delta_.text(of.ranks));
  if (known->second && known->second->isWhole() && known->second->size() > 0) {
    return &*known->second;
  }
  const auto described = described_.find(delta_.text(of.group));
  return described == described_.end() ? nullptr : &described->second;
}

CommunicatorId ChromeCollectives::communicator(const Collective& of, std::string_view library,
                                               int64_t created_ns) {
  if (of.group == StringId::kNone && of.ranks == StringId::kNone) return CommunicatorId::kNone;
  const auto [known, fresh] = communicators_.try_emplace({of.group, of.ranks});
  if (!fresh) return known->second;
  known->second = idAt<CommunicatorId>(communicators_.size() - 1);
  const RankList* const ranks = groupRanks(of);
  const std::string_view description = delta_.text(of.description);
  const bool is_named = !description.empty() && description != "undefined";
  delta_.communicator.push(
      {.id = known->second,
       .process_id = of.process,
       .name = is_named ? of.description : of.group,
       .key = communicatorKey(delta_.text(of.group), ranks),
       .ranks = small(ranks == nullptr ? of.group_size : static_cast<int64_t>(ranks->size())),
       .rank = ranks == nullptr || !rank_ ? -1 : ranks->placeOf(*rank_),
       .members = ranks == nullptr ? StringId::kNone : delta_.strings.intern(ranks->text()),
       .created_ns = created_ns,
       .ordinal = static_cast<uint32_t>(communicators_.size()),
       .library = delta_.strings.intern(library)});
  return known->second;
}

void ChromeCollectives::push(const Call& call) {
  const Collective& of = call.of;
  const TorchCollective meaning = torchCollective(delta_.text(of.name));
  // Kernels have this metadata only if they are NCCL's, or RCCL's under its name.
  const std::string_view library = call.work ? "NCCL" : libraryOfBackend(backend_);
  const bool is_nccl = library == "NCCL" && !meaning.nccl.empty();
  const std::string type(plainDataType(delta_.text(of.data_type)));
  const uint64_t bytes = dataTypeBytes(type);
  const RankList* const ranks = groupRanks(of);
  const bool is_rooted = meaning.from_root || meaning.to_root;
  const bool is_message = meaning.kind == CommKind::kSend || meaning.kind == CommKind::kReceive;
  const int64_t own = ranks == nullptr || !rank_ ? -1 : ranks->placeOf(*rank_);
  const bool counts_out = meaning.nccl == "ncclReduceScatter" || meaning.kind == CommKind::kReceive;
  const auto product = [&](uint64_t elements) {
    uint64_t result = 0;
    return __builtin_mul_overflow(elements, bytes, &result) ? 0 : result;
  };
  CommRow row{.start_ns = of.start_ns,
              .duration_ns = of.duration_ns,
              .function = is_nccl ? delta_.strings.intern(meaning.nccl) : of.name,
              .process_id = of.process,
              .thread_id = of.thread,
              .communicator_id = communicator(of, library, of.start_ns),
              .kind = meaning.kind,
              .sequence = meaning.kind == CommKind::kCollective ? of.sequence : 0,
              .peer = is_rooted || is_message ? of.rank : -1,
              .tag = -1,
              .correlation_id = of.correlation,
              .element_count = counts_out ? of.out : of.in,
              .data_type = type.empty() ? StringId::kNone : delta_.strings.intern(type)};
  setTensorBytes(row, meaning, product(of.in), product(of.out), own >= 0 && own == of.rank);
  delta_.comm.push(row);
  if (!call.work) return;
  delta_.comm_work.push({.start_ns = call.work->start_ns,
                         .duration_ns = lengthOf(call.work->start_ns, call.work->end_ns),
                         .process_id = of.process,
                         .correlation_id = of.correlation,
                         .kind = CommWorkKind::kOperation,
                         .timing_source = TimingSource::kDevice,
                         .peer = -1});
}

size_t ChromeCollectives::finish() {
  for (Call& call : calls_) {
    if (call.of.process == ProcessId::kNone) call.of.process = tracks_.mainProcess();
  }
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const Call& a, const Call& b) { return a.of.start_ns < b.of.start_ns; });
  for (const Call& call : calls_) push(call);
  return calls_.size();
}

}  // namespace tracesmith::import
