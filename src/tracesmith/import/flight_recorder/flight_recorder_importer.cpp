// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/flight_recorder_importer.hpp"

#include <memory>
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
constexpr size_t kLargestEntry = 4u << 20;      // as JSON
constexpr size_t kMostEntryBytes = 512u << 20;  // of all entries of a pickle, as JSON
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
               "this is no entry of the Flight Recorder", 1);
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

void readMembers(const Pickle& pickle, FlightRecorderRows& rows, DamageLog& damage) {
  const PickleValue& root = pickle.at(pickle.root());
  if (root.kind != PickleKind::kDict) return;
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const PickleValue& key = pickle.at(root.items[i]);
    if (key.kind != PickleKind::kText || key.text == kEntries) continue;
    std::string json;
    if (!pickle.appendJson(root.items[i + 1], kLargestEntry, json)) {
      damage.add(0, 0, "the member " + std::string(key.text) + " is too large, or nested too deep");
      continue;
    }
    const size_t length = json.size();
    json.append(kJsonPadding, '\0');
    rows.member(key.text, std::string_view(json).substr(0, length));
  }
}

void readEntries(const Pickle& pickle, const TraceBuilder& builder, FlightRecorderRows& rows,
                 DamageLog& damage) {
  const PickleValue* const entries = entriesOf(pickle);
  if (entries == nullptr) return;
  size_t total = 0;
  std::string json;
  for (const uint32_t entry : entries->items) {
    if (builder.failed()) return;
    json.clear();
    if (pickle.at(entry).is_cut) {
      damage.add(pickle.usedBytes(), 0, "the last entry is cut", 1);
      continue;
    }
    const bool fits = total < kMostEntryBytes && pickle.appendJson(entry, kLargestEntry, json);
    const size_t length = json.size();
    total += length;
    json.append(kJsonPadding, '\0');
    if (!fits) {
      damage.add(pickle.usedBytes(), 0, "an entry is too large, or nested too deep", 1);
    } else if (!rows.entry(std::string_view(json).substr(0, length))) {
      damage.add(pickle.usedBytes(), 0, "an entry that the Flight Recorder does not write", 1);
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
  readMembers(*pickle, rows, damage);
  readEntries(*pickle, builder, rows, damage);
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
