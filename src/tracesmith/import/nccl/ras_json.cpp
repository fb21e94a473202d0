// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/read_all.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/json/json_walker.hpp"
#include "tracesmith/import/json/source_member.hpp"
#include "tracesmith/import/nccl/ras_importer.hpp"
#include "tracesmith/import/nccl/ras_rows.hpp"

namespace tracesmith::import {
namespace {

constexpr uint64_t kLargestRasJson = 1u << 30;
constexpr int kDeepestStatus = 4;

class RasJson {
 public:
  RasJson(TraceBuilder& builder, RasRows& rows) : builder_(builder), rows_(rows) {}

  /// Reads as far as the document goes.
  void read(JsonWalker& walker);

 private:
  void communicator(JsonWalker& walker);
  void ranks(JsonWalker& walker, bool answered, RasCommunicator& to);
  RasRank rank(std::string_view raw, bool answered);
  void status(std::string_view path, std::string_view raw, int depth, RasRank& to);
  std::string text(const JsonToken& token) {
    return std::string(token.text ? textOf(token, room_) : token.raw);
  }

  TraceBuilder& builder_;
  RasRows& rows_;
  std::string room_;
};

/// Everything that no column holds, as attributes: "status.async_error".
void RasJson::status(std::string_view path, std::string_view raw, int depth, RasRank& to) {
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    const std::string name = std::string(path) + std::string(key);
    if (!value.text && value.raw.starts_with('{') && depth < kDeepestStatus) {
      status(name + ".", value.raw, depth + 1, to);
    } else {
      to.attributes.emplace_back(name, text(value));
    }
  });
}

RasRank RasJson::rank(std::string_view raw, bool answered) {
  RasRank rank;
  rank.answered = answered;
  forMembers(raw, [&](std::string_view key, const JsonToken& value) {
    if (key == "rank") {
      rank.rank = value.integer(-1);
    } else if (key == "host" && value.text) {
      rank.host = text(value);
    } else if (key == "pid") {
      rank.pid = value.integer(-1);
    } else if (key == "collective_counts" && value.raw.starts_with('{')) {
      forMembers(value.raw, [&](std::string_view operation, const JsonToken& count) {
        rank.calls.emplace_back(operation, positive(count.integer()));
      });
    } else if (value.raw.starts_with('{')) {
      status(std::string(key) + ".", value.raw, 0, rank);
    } else {
      rank.attributes.emplace_back(key, text(value));
    }
  });
  if (!answered) rank.attributes.emplace_back("answered", "false");
  return rank;
}

void RasJson::ranks(JsonWalker& walker, bool answered, RasCommunicator& to) {
  walker.enter('[');
  while (walker.element()) {
    if (const JsonToken value = walker.value(); value) {
      to.known.push_back(rank(value.raw, answered));
    }
  }
}

void RasJson::communicator(JsonWalker& walker) {
  RasCommunicator of;
  std::vector<std::pair<std::string, std::string>> attributes;
  walker.enter('{');
  for (std::string_view key; walker.member(key);) {
    if ((key == "ranks" || key == "missing_ranks") && walker.peek() == '[') {
      ranks(walker, key == "ranks", of);
      continue;
    }
    const std::string name(key);
    const JsonToken value = walker.value();
    if (name == "hash" && value.text) {
      of.hash = text(value);
    } else if (name == "size") {
      of.ranks = value.integer();
    } else if (value) {
      attributes.emplace_back(name, text(value));
    }
  }
  for (RasRank& rank : of.known) {
    rank.attributes.insert(rank.attributes.end(), attributes.begin(), attributes.end());
  }
  rows_.add(of);
}

void RasJson::read(JsonWalker& walker) {
  walker.enter('{');
  for (std::string_view key; walker.member(key);) {
    if (key == "communicators" && walker.peek() == '[') {
      walker.enter('[');
      while (walker.element() && !builder_.failed()) {
        if (walker.peek() == '{') {
          communicator(walker);
        } else {
          walker.value();
        }
      }
      continue;
    }
    const std::string name(key);
    const JsonToken value = walker.value();
    if (walker.failed()) return;
    keepSourceMember(name, wholeValue(value),
                     [&](const std::string& metadata, std::string_view kept) {
                       builder_.setMetadata(metadata, kept);
                     });
  }
}

Result<ImportCounts> runRasJson(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  std::string cut_short;
  TS_TRY(const Column<char> bytes, readAll(*source, kLargestRasJson, kJsonPadding, cut_short));
  const size_t size = bytes.size() - kJsonPadding;
  DamageLog damage;
  if (!cut_short.empty()) damage.add(size, 0, cut_short);
  TraceBuilder builder(writer, std::move(facts));
  RasRows rows(builder);
  JsonWalker walker({bytes.data(), size});
  RasJson(builder, rows).read(walker);
  const auto at = static_cast<uint64_t>(walker.place() - bytes.data());
  if (walker.failed() || at < size) {
    damage.add(
        at, size - at,
        walker.failed() ? describe(walker.fault()) : "this is after the end of the document");
  }
  ImportCounts counts;
  counts.events = counts.rows = rows.ranks();
  counts.bytes = size;
  counts.notes = rows.notes();
  counts.damage = damage.places();
  TS_CHECK_OK(builder.finish(counts, damage.summary()));
  return counts;
}

bool recognisesRasJson(const ImportInput& input) {
  const std::string_view head = input.head;
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || head[first] != '{') return false;
  return head.find("\"communicators_count\"") != std::string_view::npos &&
         head.find("\"nccl_version\"") != std::string_view::npos;
}

}  // namespace

constinit const Importer kNcclRasJsonImporter = {
    "NCCL RAS JSON", "tested only with files written by hand", recognisesRasJson, runRasJson};

}  // namespace tracesmith::import
