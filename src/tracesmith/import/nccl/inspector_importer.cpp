// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/inspector_importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/json/json_records.hpp"
#include "tracesmith/import/json/json_sequence.hpp"
#include "tracesmith/import/json/json_walker.hpp"
#include "tracesmith/import/nccl/host_processes.hpp"
#include "tracesmith/import/nccl/inspector_fields.hpp"
#include "tracesmith/import/nccl/nccl_names.hpp"

namespace tracesmith::import {
namespace {

namespace nf = inspector_field;

constexpr std::string_view kInspectorSection = "nccl_inspector";
/// Of a start that the file does not say: much more than the time between two dumps.
constexpr int64_t kUnknownStartErrorNs = 3'600'000'000'000;

/// A channel of an operation, as verbose lines have it: when the plugin was told that the channel's
/// part of the kernel started and stopped.
struct ChannelTimes {
  int64_t channel = 0;
  std::optional<int64_t> start_ns, stop_ns;
};

class InspectorRows {
 public:
  explicit InspectorRows(TraceBuilder& builder)
      : builder_(builder), records_(nf::inspectorFieldOf, nf::kFields), processes_(builder) {}

  /// Returns false if `raw` is not of the Inspector.
  bool line(std::string_view raw);
  uint64_t lines() const { return lines_; }
  uint64_t rows() const { return rows_; }
  void tell(std::vector<std::string>& notes, std::string& lost) const;

 private:
  const JsonToken& field(int number) const { return records_[number]; }
  std::string text(int number);
  std::optional<int64_t> time(const JsonToken& micros) const;
  std::vector<ChannelTimes> channelTimes() const;
  CommunicatorId communicator(ProcessId process, int64_t start_ns);
  void setBytes(CommRow& row, std::string_view function) const;
  void work(const CommRow& call, const std::vector<ChannelTimes>& channels, bool has_start);

  TraceBuilder& builder_;
  JsonRecords records_;
  HostProcesses processes_;
  SpansOfSource spans_;
  std::map<std::tuple<ProcessId, std::string, int64_t>, CommunicatorId> communicators_;
  std::map<CommunicatorId, int64_t> last_starts_;  // of operations without a start in the file
  std::set<std::string> hosts_;
  std::string room_;
  uint64_t lines_ = 0;
  uint64_t rows_ = 0;
  uint64_t without_start_ = 0;
};

std::string InspectorRows::text(int number) {
  return field(number).text ? std::string(textOf(field(number), room_)) : std::string();
}

/// nullopt: it is missing, or 0, as times are that the plugin never learnt.
std::optional<int64_t> InspectorRows::time(const JsonToken& micros) const {
  int64_t ns = 0;
  const bool known = micros.nanoseconds(1000, ns) && ns > 0 && ns <= SpansOfSource::kFarthestNs;
  return known ? std::optional(ns) : std::nullopt;
}

std::vector<ChannelTimes> InspectorRows::channelTimes() const {
  std::vector<ChannelTimes> channels;
  forElements(field(nf::kChannels).raw, [&](const JsonToken& element) {
    ChannelTimes& channel = channels.emplace_back();
    forMembers(element.raw, [&](std::string_view key, const JsonToken& value) {
      if (key == "channel_id") channel.channel = value.integer();
      if (key == "kernel_start_ts") channel.start_ns = time(value);
      if (key == "kernel_stop_ts") channel.stop_ns = time(value);
    });
  });
  return channels;
}

CommunicatorId InspectorRows::communicator(ProcessId process, int64_t start_ns) {
  const std::string id = text(nf::kCommunicator);
  const int64_t rank = field(nf::kRank).integer(-1);
  // A process may be several ranks of one communicator, with a GPU for each.
  const auto [it, fresh] = communicators_.try_emplace({process, id, rank});
  if (!fresh) return it->second;
  it->second = idAt<CommunicatorId>(communicators_.size() - 1);
  const std::string name = text(nf::kCommunicatorName);
  builder_.rows.communicator.push(
      {.id = it->second,
       .process_id = process,
       .name = name.empty() || name == "unknown" ? StringId::kNone : builder_.text(name),
       .key = ncclCommunicatorKey(id),
       .ranks = small(field(nf::kRanks).integer()),
       .rank = rank,
       .created_ns = start_ns,
       .ordinal = static_cast<uint32_t>(communicators_.size()),
       .library = builder_.text("NCCL"),
       .nodes = small(field(nf::kNodes).integer())});
  builder_.added();
  return it->second;
}

/// The Inspector has the bytes of the elements that the caller counts: of one rank's part where
/// each rank has another one. It does not say which rank is the root.
void InspectorRows::setBytes(CommRow& row, std::string_view function) const {
  const uint64_t bytes = positive(field(nf::kBytes).integer());
  uint64_t of_all = 0;
  if (__builtin_mul_overflow(bytes, positive(field(nf::kRanks).integer()), &of_all)) of_all = 0;
  const bool is_gather = function == "AllGather" || function == "AllGatherV";
  const bool is_exchange = function == "All2All" || function == "AlltoAll";
  if (row.kind != CommKind::kReceive && function != "Broadcast") {
    row.send_bytes = function == "ReduceScatter" || is_exchange ? of_all : bytes;
  }
  if (row.kind != CommKind::kSend && function != "Reduce") {
    row.receive_bytes = is_gather || is_exchange ? of_all : bytes;
  }
}

/// When the data moved. The duration is the Inspector's: the longest of the channels, by the GPU's
/// clock if the source is "kernel_gpu". The start is when the plugin was told of the first channel.
void InspectorRows::work(const CommRow& call, const std::vector<ChannelTimes>& channels,
                         bool has_start) {
  CommWorkRow work{.start_ns = call.start_ns,
                   .process_id = call.process_id,
                   .correlation_id = call.correlation_id,
                   .kind = CommWorkKind::kOperation,
                   .timing_source = text(nf::kTimingSource) == "kernel_gpu"
                                        ? TimingSource::kDeviceEvents
                                        : TimingSource::kHost,
                   .peer = -1};
  if (!field(nf::kTimingSource)) work.timing_source = TimingSource::kUnknown;
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const ChannelTimes& channel : channels) {
    if (channel.start_ns) first = std::min(first, *channel.start_ns);
    if (channel.stop_ns) ++work.channels;
  }
  if (first != std::numeric_limits<int64_t>::max()) {
    work.start_ns = first;
  } else if (!has_start) {
    work.error_ns = kUnknownStartErrorNs;
  }
  field(nf::kDuration).nanoseconds(1000, work.duration_ns);
  work.duration_ns = spans_.lasting(work.duration_ns);
  builder_.rows.comm_work.push(work);
  for (const ChannelTimes& channel : channels) {
    if (!channel.start_ns || !channel.stop_ns) continue;
    builder_.rows.comm_work.push({.start_ns = *channel.start_ns,
                                  .duration_ns = spans_.between(*channel.start_ns, channel.stop_ns),
                                  .process_id = call.process_id,
                                  .correlation_id = call.correlation_id,
                                  .kind = CommWorkKind::kChannel,
                                  .timing_source = TimingSource::kHost,
                                  .channel = small(channel.channel),
                                  .peer = -1});
  }
  builder_.added(1 + channels.size());
}

bool InspectorRows::line(std::string_view raw) {
  if (!records_.read(raw) || !field(nf::kCommunicator) || !field(nf::kFunction)) return false;
  ++lines_;
  // Without a trace of events the file only says when the line was written, which is after the
  // operation. So it is shown where it can have been at the latest.
  std::optional<int64_t> start = time(field(nf::kCallStart));
  const std::optional<int64_t> dumped = time(field(nf::kDumped));
  const bool has_start = start.has_value();
  int64_t lasted = 0;
  field(nf::kDuration).nanoseconds(1000, lasted);
  if (!start && dumped) start = wrappingDifference(*dumped, std::max<int64_t>(lasted, 0));
  if (!start || !spans_.isTime(*start)) {
    records_.keep(builder_, SourceRows::kNone, kInspectorSection, {});
    builder_.added();
    return true;
  }
  if (rows_ == 0) builder_.unixTime(*start, *start);
  const std::string host = text(nf::kHost);
  if (hosts_.size() < 2 && hosts_.insert(host).second) {
    builder_.setMetadata("hostname", hosts_.size() == 1 ? host : std::string_view());
  }
  const std::string function = text(nf::kFunction);
  const std::vector<ChannelTimes> channels = channelTimes();
  const std::optional<int64_t> stop = time(field(nf::kCallStop));
  const ProcessId process = processes_.of(host, field(nf::kProcess).integer(-1));
  CommRow row{.start_ns = *start,
              .duration_ns = has_start && stop ? spans_.between(*start, stop) : 0,
              .function = builder_.text(ncclFunction(function)),
              .process_id = process,
              .communicator_id = communicator(process, *start),
              .kind = ncclKind(function),
              .peer = field(nf::kPeer).integer(-1),
              .tag = -1,
              .correlation_id = ++rows_,
              .channels = static_cast<uint32_t>(channels.size())};
  // The Inspector counts collectives from 0. Messages it counts for all of the communicator, which
  // is not equal on all ranks.
  if (row.kind == CommKind::kCollective) {
    row.sequence = positive(field(nf::kSequence).integer(-1)) + 1;
    if (field(nf::kSequence).integer(-1) < 0) row.sequence = 0;
  }
  setBytes(row, function);
  if (!has_start) {
    ++without_start_;
    // The lines of a communicator are in the order of its calls.
    int64_t& last = last_starts_.try_emplace(row.communicator_id, *start).first->second;
    last = row.start_ns = std::max(last, *start);
  }
  builder_.rows.comm.push(row);
  records_.keep(builder_, TableId::kComm, kInspectorSection, {});
  builder_.added();
  work(row, channels, has_start);
  return true;
}

void InspectorRows::tell(std::vector<std::string>& notes, std::string& lost) const {
  if (lines_ > rows_) {
    notes.push_back(
        fmt::format("{} lines have no readable time: they are kept unchanged, but are in no table",
                    lines_ - rows_));
    lost = notes.back();
  }
  if (without_start_ > 0) {
    notes.push_back(fmt::format(
        "{} operations have no start in the file, only how long they took and when they were "
        "written: each is shown at the latest possible time. Record with "
        "NCCL_INSPECTOR_DUMP_VERBOSE=1 to get the start",
        without_start_));
  }
  spans_.tell(notes, lost);
}

Result<ImportCounts> runInspector(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  TraceBuilder builder(writer, std::move(facts));
  DamageLog damage;
  JsonSequence sequence(*source, damage);
  InspectorRows rows(builder);
  for (std::string_view raw; !builder.failed() && sequence.next(raw);) {
    if (!rows.line(raw)) {
      damage.add(sequence.offset(), raw.size(), "this is not a line of the Inspector", 1);
    }
  }
  ImportCounts counts;
  counts.events = rows.lines();
  counts.rows = rows.rows();
  counts.others = rows.lines() - rows.rows();
  counts.bytes = sequence.bytes();
  std::string lost;
  rows.tell(counts.notes, lost);
  counts.damage = damage.places();
  if (!damage.empty()) lost += (lost.empty() ? "" : "; ") + damage.summary();
  TS_CHECK_OK(builder.finish(counts, lost));
  return counts;
}

bool recognisesInspector(const ImportInput& input) {
  const std::string_view head = input.head;
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || head[first] != '{') return false;
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  return has("\"header\"") && has("\"n_ranks\"") &&
         (has("\"coll_perf\"") || has("\"p2p_perf\"") ||
          has("\"inspector_output_format_version\""));
}

}  // namespace

constinit const Importer kNcclInspectorImporter = {
    "NCCL Inspector", "tested only with files written by hand", recognisesInspector, runInspector};

}  // namespace tracesmith::import
