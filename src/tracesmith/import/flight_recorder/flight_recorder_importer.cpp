// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/flight_recorder_importer.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/rank_in_name.hpp"
#include "tracesmith/import/common/read_all.hpp"
#include "tracesmith/import/flight_recorder/flight_recorder_rows.hpp"
#include "tracesmith/import/flight_recorder/pickle.hpp"
#include "tracesmith/import/json/json_walker.hpp"

namespace tracesmith::import {
namespace {

constexpr uint64_t kLargestDump = 1u << 30;
// Of a pickle, as JSON.
constexpr size_t kLargestEntry = 4u << 20;
constexpr size_t kLargestMember = 64u << 20;  // the groups of a large job take megabytes
constexpr size_t kMostJsonBytes = 512u << 20;
constexpr std::string_view kEntries = "entries";

/// A dump's entries and its other members, as JSON within the document.
struct JsonDump {
  std::vector<std::pair<std::string, std::string_view>> members;
  std::vector<std::string_view> entries;
};

/// Takes what is there before a fault. Dumps of PyTorch 2.2 are just a list of entries.
void readDump(JsonWalker& walker, JsonDump& dump) {
  const auto readEntries = [&] {
    walker.enter('[');
    while (walker.element()) {
      const JsonToken entry = walker.value();
      if (!walker.failed()) dump.entries.push_back(wholeValue(entry));
    }
  };
  if (walker.peek() == '[') return readEntries();
  walker.enter('{');
  for (std::string_view key; walker.member(key);) {
    if (key == kEntries && walker.peek() == '[') {
      readEntries();
    } else {
      const std::string name(key);
      const JsonToken value = walker.value();
      if (!walker.failed()) dump.members.emplace_back(name, wholeValue(value));
    }
  }
}

/// Writes what importing a dump has found.
Result<ImportCounts> finish(TraceBuilder& builder, const FlightRecorderRows& rows,
                            DamageLog& damage, uint64_t bytes) {
  ImportCounts counts;
  counts.events = rows.entries();
  counts.rows = rows.rows();
  counts.others = rows.entries() - rows.rows();
  counts.bytes = bytes;
  counts.notes = rows.notes();
  std::string lost;
  rows.spans().tell(counts.notes, lost);
  counts.damage = damage.places();
  if (!damage.empty()) lost += (lost.empty() ? "" : "; ") + damage.summary();
  TS_CHECK_OK(builder.finish(counts, lost));
  return counts;
}

Result<ImportCounts> runFlightJson(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  std::string cut_short;
  TS_TRY(const Column<char> bytes, readAll(*source, kLargestDump, kJsonPadding, cut_short));
  const size_t size = bytes.size() - kJsonPadding;
  DamageLog damage;
  if (!cut_short.empty()) damage.add(size, 0, cut_short);
  JsonWalker walker({bytes.data(), size});
  JsonDump dump;
  readDump(walker, dump);
  if (walker.place() < bytes.data() + size || walker.failed()) {
    const auto at = static_cast<uint64_t>(walker.place() - bytes.data());
    damage.add(at, size - at,
               walker.failed() ? describe(walker.fault()) : "this is after the end of the dump");
  }
  if (dump.entries.empty() && dump.members.empty()) {
    return fail(ErrorCode::kNotATrace, "has no readable entry of the Flight Recorder", input.path);
  }
  TraceBuilder builder(writer, std::move(facts));
  FlightRecorderRows rows(builder, rankInName(input.path));
  for (const auto& [name, raw] : dump.members) rows.member(name, raw);
  for (const std::string_view raw : dump.entries) {
    if (builder.failed()) break;
    if (rows.entry(raw)) continue;
    damage.add(static_cast<uint64_t>(raw.data() - bytes.data()), raw.size(),
               "this is not an entry of the Flight Recorder", 1);
  }
  return finish(builder, rows, damage, size);
}

/// The entries of a dump; nullptr: it has none.
const PickleValue* entriesOf(const Pickle& pickle) {
  const PickleValue& root = pickle.at(pickle.root());
  const PickleValue* const list =
      root.kind == PickleKind::kList ? &root : pickle.find(root, kEntries);
  return list != nullptr && list->kind == PickleKind::kList ? list : nullptr;
}

/// Converts the parts of a pickle to rows.
class PickleDump {
 public:
  PickleDump(const Pickle& pickle, FlightRecorderRows& rows, DamageLog& damage)
      : pickle_(pickle), rows_(rows), damage_(damage) {}

  void readMembers();
  void readEntries(const TraceBuilder& builder);

 private:
  /// The value as JSON, which kJsonPadding zeros follow; nullopt: it is too large.
  std::optional<std::string_view> json(uint32_t value, size_t most_bytes);

  const Pickle& pickle_;
  FlightRecorderRows& rows_;
  DamageLog& damage_;
  std::string json_;
  size_t total_ = 0;
};

std::optional<std::string_view> PickleDump::json(uint32_t value, size_t most_bytes) {
  json_.clear();
  const bool fits = total_ < kMostJsonBytes && pickle_.appendJson(value, most_bytes, json_);
  const size_t length = json_.size();
  total_ += length;
  json_.append(kJsonPadding, '\0');
  return fits ? std::optional(std::string_view(json_).substr(0, length)) : std::nullopt;
}

void PickleDump::readMembers() {
  const PickleValue& root = pickle_.at(pickle_.root());
  if (root.kind != PickleKind::kDict) return;
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const PickleValue& key = pickle_.at(root.items[i]);
    if (key.kind != PickleKind::kText || key.text == kEntries) continue;
    if (const auto value = json(root.items[i + 1], kLargestMember)) {
      rows_.member(key.text, *value);
    } else {
      damage_.add(pickle_.usedBytes(), 0,
                  "the member " + std::string(key.text.substr(0, 100)) +
                      " is too large, or nested too deep",
                  0);
    }
  }
}

void PickleDump::readEntries(const TraceBuilder& builder) {
  const PickleValue* const entries = entriesOf(pickle_);
  if (entries == nullptr) return;
  for (const uint32_t entry : entries->items) {
    if (builder.failed()) return;
    if (pickle_.at(entry).is_cut) {
      damage_.add(pickle_.usedBytes(), 0, "the last entry is cut", 1);
    } else if (const auto value = json(entry, kLargestEntry); !value) {
      damage_.add(pickle_.usedBytes(), 0, "an entry is too large, or nested too deep", 1);
    } else if (!rows_.entry(*value)) {
      damage_.add(pickle_.usedBytes(), 0, "an entry that the Flight Recorder does not write", 1);
    }
  }
}

Result<ImportCounts> runFlightPickle(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  std::string cut_short;
  TS_TRY(const Column<char> bytes, readAll(*source, kLargestDump, 0, cut_short));
  Result<Pickle> pickle = Pickle::read({bytes.data(), bytes.size()});
  if (!pickle) {
    Error error = pickle.error();
    error.where = input.path;
    return tl::unexpected<Error>(std::move(error));
  }
  const PickleValue& root = pickle->at(pickle->root());
  if (entriesOf(*pickle) == nullptr && pickle->find(root, "pg_config") == nullptr) {
    return fail(ErrorCode::kNotATrace, "is a pickle, but no dump of the Flight Recorder",
                input.path);
  }
  DamageLog damage;
  if (!cut_short.empty()) damage.add(bytes.size(), 0, cut_short);
  if (pickle->usedBytes() < bytes.size() || !pickle->problem().empty()) {
    damage.add(pickle->usedBytes(), bytes.size() - pickle->usedBytes(),
               pickle->problem().empty() ? "this is after the end of the dump" : pickle->problem());
  }
  TraceBuilder builder(writer, std::move(facts));
  FlightRecorderRows rows(builder, rankInName(input.path));
  PickleDump dump(*pickle, rows, damage);
  dump.readMembers();
  dump.readEntries(builder);
  return finish(builder, rows, damage, bytes.size());
}

bool has(std::string_view head, std::string_view text) {
  return head.find(text) != std::string_view::npos;
}

bool recognisesFlightPickle(const ImportInput& input) {
  const std::string_view head = input.head;
  if (head.size() < 2) return false;
  const bool is_binary = head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  // Protocols 0 and 1 have no mark: an empty dict or list, or a mark and then one of these.
  const bool is_text =
      head[0] == '}' || head[0] == ']' || (head[0] == '(' && (head[1] == 'd' || head[1] == 'l'));
  return (is_binary || is_text) && (has(head, "profiling_name") || has(head, "pg_config"));
}

bool recognisesFlightJson(const ImportInput& input) {
  const std::string_view head = input.head;
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  // Kineto's traces have "pg_config" as well.
  const bool is_dump = (has(head, "\"profiling_name\"") && has(head, "\"time_created_")) ||
                       (has(head, "\"pg_config\"") && has(head, "\"pg_status\""));
  return is_dump && !has(head, "\"traceEvents\"");
}

}  // namespace

constinit const Importer kFlightRecorderPickleImporter = {"PyTorch Flight Recorder", "",
                                                          recognisesFlightPickle, runFlightPickle};
constinit const Importer kFlightRecorderJsonImporter = {"PyTorch Flight Recorder JSON", "",
                                                        recognisesFlightJson, runFlightJson};

}  // namespace tracesmith::import
