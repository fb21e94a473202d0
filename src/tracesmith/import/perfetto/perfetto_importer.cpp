// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_importer.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_gpu_counters.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_packet_fields.hpp"
#include "tracesmith/import/perfetto/perfetto_packets.hpp"
#include "tracesmith/import/perfetto/perfetto_recognition.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto/perfetto_slices.hpp"
#include "tracesmith/import/perfetto/perfetto_stages.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

constexpr size_t kLargestKept = 64u << 10;  // bytes kept of a packet of unknown kind
constexpr uint64_t kMostKept = 64u << 20;   // in total

/// Fields of a TracePacket that say how to read it, or that the first pass has read.
bool isNoEvent(uint32_t field) {
  switch (field) {
    case pn::packet::kTimestamp:
    case pn::packet::kSequenceId:
    case pn::packet::kSequenceFlags:
    case pn::packet::kTimestampClockId:
    case pn::packet::kInternedData:
    case pn::packet::kDefaults:
    case pn::packet::kClockSnapshot:
    case pn::packet::kTrackDescriptor:
    case pn::packet::kProcessTree:
    case pn::packet::kProcessDescriptor:
    case pn::packet::kThreadDescriptor:
    case pn::packet::kTraceAttributes:
    case pn::packet::kGpuInfo:
    case pn::packet::kStateCleared:
    case pn::packet::kDropped:
    case pn::packet::kMachineId:
      return true;
    default:
      // trusted uid and pid, first packet on a sequence, synchronisation marks, the trace's uuid
      return field == 3 || field == 79 || field == 87 || field == 36 || field == 89;
  }
}

/// Names from Perfetto's BuiltinClock; other clocks only have numbers.
std::string clockName(uint32_t clock) {
  constexpr std::array<std::string_view, 7> kNames = {"",
                                                      "CLOCK_REALTIME",
                                                      "CLOCK_REALTIME_COARSE",
                                                      "CLOCK_MONOTONIC",
                                                      "CLOCK_MONOTONIC_COARSE",
                                                      "CLOCK_MONOTONIC_RAW",
                                                      "CLOCK_BOOTTIME"};
  if (clock > 0 && clock < kNames.size()) return std::string(kNames[clock]);
  return fmt::format("clock {}", clock);
}

/// The fields of a packet that say how to read it.
struct PacketHeader {
  uint64_t sequence = 0;
  uint64_t flags = 0;
  std::optional<uint64_t> timestamp;
  std::optional<uint32_t> clock;
  std::string_view defaults, interned, snapshot;
  std::optional<std::string_view> thread;
  bool lost = false;  ///< earlier packets of the sequence are lost
};

PacketHeader readHeader(std::string_view bytes) {
  PacketHeader header;
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::packet::kSequenceId:
        header.sequence = f.value;
        break;
      case pn::packet::kSequenceFlags:
        header.flags |= f.value;
        break;
      case pn::packet::kStateCleared:
        if (f.value != 0) header.flags |= pn::packet::kCleared;
        break;
      case pn::packet::kTimestamp:
        header.timestamp = f.value;
        break;
      case pn::packet::kTimestampClockId:
        header.clock = static_cast<uint32_t>(f.value);
        break;
      case pn::packet::kDefaults:
        header.defaults = f.bytes;
        break;
      case pn::packet::kInternedData:
        header.interned = f.bytes;
        break;
      case pn::packet::kClockSnapshot:
        header.snapshot = f.bytes;
        break;
      case pn::packet::kDropped:
        header.lost = f.value != 0;
        break;
      case pn::packet::kThreadDescriptor:
        header.thread = f.bytes;
        break;
      case pn::packet::kTrackDescriptor:
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::track::kThread) header.thread = g.bytes;
        });
        break;
      default:
        break;
    }
  });
  return header;
}

class PerfettoImport {
 public:
  PerfettoImport(TraceWriter& writer, Trace facts, const PerfettoFirstPass& first_pass)
      : first_pass_(first_pass),
        clocks_(first_pass.clocks),
        builder_(writer, std::move(facts)),
        kept_(builder_),
        slices_(builder_, kept_, first_pass, clocks_, spans_),
        stages_(builder_, kept_, first_pass, slices_, spans_),
        gpu_counters_(builder_, kept_, first_pass) {}

  void begin();
  bool packet(std::string_view bytes);
  /// True if writing failed; finish() returns the error.
  bool failed() const { return builder_.failed(); }
  Status finish(const DamageLog& damage, ImportCounts& counts);

 private:
  void follow(const PacketHeader& header, PerfettoSequence& sequence);
  std::optional<int64_t> timeOf(const PacketHeader& header, const PerfettoSequence& sequence);
  PerfettoOutcome payload(PerfettoSequence& sequence, uint64_t id, std::optional<int64_t> time,
                          const Field& field);
  PerfettoOutcome keepOther(std::optional<int64_t> time, const Field& field);

  const PerfettoFirstPass& first_pass_;
  PerfettoClocks clocks_;
  TraceBuilder builder_;
  KeptEvents kept_;
  SpansOfSource spans_;
  PerfettoSlices slices_;
  PerfettoStages stages_;
  PerfettoGpuCounters gpu_counters_;
  std::map<uint64_t, PerfettoSequence> sequences_;
  std::map<uint32_t, uint64_t> others_;          // packets in no table, by field number
  std::map<uint32_t, uint64_t> unknown_clocks_;  // number of packets, by clock
  uint64_t events_ = 0;
  uint64_t described_ = 0;
  uint64_t stateless_ = 0;
  uint64_t unusable_ = 0;
  uint64_t dropped_ = 0;
  uint64_t kept_bytes_ = 0;
  uint64_t not_kept_ = 0;
};

void PerfettoImport::begin() {
  for (const auto& [key, value] : first_pass_.attributes) {
    // Restores the metadata of the exported trace, but keeps entries written by this import.
    constexpr std::string_view kMetadata = "metadata.";
    if (first_pass_.ours && key.substr(0, kMetadata.size()) == kMetadata) {
      const std::string own = key.substr(kMetadata.size());
      if (own != "producer" && own.substr(0, 8) != "imported" && own != "source_form") {
        builder_.setMetadata(own, value);
      }
    } else {
      builder_.setMetadata("source." + key, value);
    }
  }
  if (const auto unix_time = clocks_.unixTime()) {
    builder_.unixTime(unix_time->first, unix_time->second);
  }
  stages_.describeGpus();
  slices_.describe();
}

bool PerfettoImport::packet(std::string_view bytes) {
  const PacketHeader header = readHeader(bytes);
  PerfettoSequence& sequence = sequences_[header.sequence];
  follow(header, sequence);
  const std::optional<int64_t> time = timeOf(header, sequence);
  const bool stateless = (header.flags & pn::packet::kNeedsState) != 0 && !sequence.valid;
  proto::forEachField(bytes, [&](const Field& f) {
    if (isNoEvent(f.number)) return;
    ++events_;
    if (stateless) {
      ++stateless_;  // its names and track were in a lost packet
      return;
    }
    switch (payload(sequence, header.sequence, time, f)) {
      case PerfettoOutcome::kRow:
        break;
      case PerfettoOutcome::kDescription:
        ++described_;
        break;
      case PerfettoOutcome::kKept:
        ++others_[f.number];
        break;
      case PerfettoOutcome::kUnusable:
        ++unusable_;
        break;
    }
  });
  return !builder_.failed();
}

/// Updates the sequence's state and the clocks from this packet.
void PerfettoImport::follow(const PacketHeader& header, PerfettoSequence& sequence) {
  if (header.lost) ++dropped_;
  if (header.flags & pn::packet::kCleared) {
    sequence.clear();
  } else if (header.lost) {
    sequence.lose();
  }
  if (header.thread) sequence.setThread(*header.thread);
  if (!header.defaults.empty()) sequence.setDefaults(header.defaults);
  if (!header.interned.empty()) sequence.intern(header.interned, builder_);
  if (!header.snapshot.empty()) clocks_.follow(header.sequence, header.snapshot);
}

/// The packet's time on the trace's clock; unconverted if no snapshot relates the two clocks.
std::optional<int64_t> PerfettoImport::timeOf(const PacketHeader& header,
                                              const PerfettoSequence& sequence) {
  if (!header.timestamp) return std::nullopt;
  const uint64_t timestamp = *header.timestamp;
  const uint32_t in = header.clock     ? *header.clock
                      : sequence.clock ? *sequence.clock
                                       : clocks_.traceClock();
  std::optional<int64_t> time = clocks_.toTrace(header.sequence, in, timestamp);
  if (!time) {
    ++unknown_clocks_[in];
    time = static_cast<int64_t>(timestamp);
  }
  if (!spans_.isTime(timestamp <= INT64_MAX ? *time : INT64_MAX)) time.reset();
  return time;
}

PerfettoOutcome PerfettoImport::payload(PerfettoSequence& sequence, uint64_t id,
                                        std::optional<int64_t> time, const Field& f) {
  const auto rowIf = [](bool usable) {
    return usable ? PerfettoOutcome::kRow : PerfettoOutcome::kUnusable;
  };
  switch (f.number) {
    case pn::packet::kTrackEvent:
      return slices_.event(sequence, id, time, f.bytes);
    case pn::packet::kGpuRenderStageEvent:
      return stages_.stage(sequence, time, f.bytes);
    case pn::packet::kGpuCounterEvent:
      return gpu_counters_.event(sequence, id, time, f.bytes);
    case pn::packet::kVulkanApiEvent:
      if (!PerfettoStages::hasSubmission(f.bytes)) return keepOther(time, f);
      return rowIf(time && stages_.vulkan(*time, f.bytes));
    case pn::packet::kGpuMemTotalEvent:
      return rowIf(time && stages_.memory(*time, f.bytes));
    case pn::packet::kGpuFrequencyEvent:
      return rowIf(time && stages_.frequency(*time, f.bytes));
    default:
      return keepOther(time, f);
  }
}

/// Keeps a packet of an unknown kind as bytes, within limits: a system trace can contain gigabytes
/// of kernel events.
PerfettoOutcome PerfettoImport::keepOther(std::optional<int64_t> time, const Field& f) {
  if (f.bytes.size() > kLargestKept || kept_bytes_ + f.bytes.size() > kMostKept) {
    ++not_kept_;
    return PerfettoOutcome::kKept;
  }
  kept_bytes_ += f.bytes.size();
  KeptEvent kept;
  if (time) kept.integer("timestamp", *time);
  keepUnknownField(f, "", builder_, kept);
  kept_.keep(SourceRows::kNone, kept);
  builder_.added();
  return PerfettoOutcome::kKept;
}

Status PerfettoImport::finish(const DamageLog& damage, ImportCounts& counts) {
  slices_.finish();
  gpu_counters_.finish();
  std::string lost;
  const auto say = [&](const std::string& more) { lost += (lost.empty() ? "" : "; ") + more; };
  uint64_t others = 0;
  std::string kinds;
  for (const auto& [field, count] : others_) {
    others += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, packetFieldName(field));
  }
  if (others > 0) {
    say(fmt::format("packets that fit in no table: {}; they are kept unchanged", kinds));
  }
  counts.events = events_;
  counts.rows = events_ - others - described_ - stateless_ - unusable_;
  counts.others = others;
  counts.metadata = first_pass_.track_order.size() + described_;
  if (slices_.unrelatedTimes() > 0) {
    unknown_clocks_[pn::clock::kMonotonic] += slices_.unrelatedTimes();
  }
  for (const auto& [clock, count] : unknown_clocks_) {
    say(fmt::format(
        "{} times in {}, which no snapshot relates to the trace's clock, are unconverted", count,
        clockName(clock)));
  }
  if (slices_.unknownTracks() > 0) {
    say(fmt::format("{} tracks were never described", slices_.unknownTracks()));
  }
  if (dropped_ > 0)
    say(fmt::format("the recorder itself dropped packets before {} others", dropped_));
  spans_.tell(counts.notes, lost);
  if (gpu_counters_.withoutSpan() > 0) {
    counts.notes.push_back(fmt::format(
        "{} values of GPU counters cover the time before the counter was first read; they are "
        "kept without a row",
        gpu_counters_.withoutSpan()));
  }
  // Reports parts of the source that the trace does not contain.
  const auto gone = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    counts.damage.push_back({0, 0, fmt::format("{} {}", count, what)});
    say(counts.damage.back().reason);
  };
  gone(gpu_counters_.incomplete(), "samples of GPU counters lack an id or a value");
  gone(slices_.valuesWithoutTrack(), "values of counters are left out: they name no track");
  if (!damage.empty()) say(damage.summary());
  gone(not_kept_, "packets of unsupported kinds are left out, because they are too large");
  gone(stateless_, "packets refer to names defined before the trace starts, or in lost packets");
  gone(unusable_, "events cannot be used: they have no time, or lack an id or a value");
  return builder_.finish(counts, lost);
}

/// Reports changes of the file between the two passes. Packets missing in the second pass are lost.
/// Packets that are new in it may refer to unknown names and tracks.
void sayChanges(uint64_t first_end, const PerfettoPackets& second, DamageLog& damage,
                ImportCounts& counts) {
  if (second.end() == first_end) return;
  SourceDamage change;
  if (second.end() < first_end) {
    change = {second.end(), first_end - second.end(), "the file became shorter while it was read"};
  } else {
    change = {first_end, 0, "the file changed while it was read: some names may be missing"};
  }
  damage.add(change.offset, change.bytes, change.reason);
  counts.damage.push_back(std::move(change));
  counts.bytes = second.bytes();
}

Result<ImportCounts> runPerfetto(const ImportInput& input, TraceWriter& writer, Trace facts) {
  return importPerfetto([&] { return input.bytes(); }, input.path, writer, std::move(facts));
}

bool recognisesPerfetto(const ImportInput& input) { return looksLikePerfetto(input.head); }

}  // namespace

Result<ImportCounts> importPerfetto(const OpenSource& open, const std::string& path,
                                    TraceWriter& writer, Trace facts) {
  PerfettoFirstPass first_pass;
  ImportCounts counts;
  DamageLog damage;
  uint64_t first_end = 0;
  {
    TS_TRY(const std::unique_ptr<ByteSource> source, open());
    PerfettoPackets packets(*source);
    packets.run([&](std::string_view packet, uint64_t) {
      first_pass.readPacket(packet);
      return true;
    });
    first_pass.finish();
    damage = packets.damage();
    counts.damage = damage.places();
    counts.bytes = packets.bytes();
    first_end = packets.end();
  }
  if (first_pass.packets == 0) {
    return counts.damage.empty()
               ? fail(ErrorCode::kNotATrace, "contains no packet", path)
               : fail(ErrorCode::kDamaged,
                      "contains no readable packet, first: " + counts.damage.front().reason, path);
  }
  TS_TRY(const std::unique_ptr<ByteSource> source, open());
  PerfettoPackets packets(*source);
  PerfettoImport import(writer, std::move(facts), first_pass);
  import.begin();
  packets.run([&](std::string_view packet, uint64_t) { return import.packet(packet); });
  if (!import.failed()) sayChanges(first_end, packets, damage, counts);
  TS_CHECK_OK(import.finish(damage, counts));
  return counts;
}

constinit const Importer kPerfettoImporter = {"Perfetto", "", recognisesPerfetto, runPerfetto};

}  // namespace tracesmith::import
