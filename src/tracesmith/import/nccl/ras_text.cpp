// SPDX-License-Identifier: Apache-2.0
// Reads the text of NCCL's RAS, as src/ras/client_support.cc prints it:
//
//   NCCL version 2.28.3 compiled with CUDA 13.0
//   …
//   Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//       #  in group  per comm  per node  per comm  in group
//       0         1         1         4         4         4   RUNNING  MISMATCH
//
//   Errors
//   ======
//
//   DEAD
//     1 job process is considered dead (unreachable via the RAS network)
//     Process 4711 on node 10.0.0.2 managing GPU 3
//
//   Warnings
//   ========
//
//   #0-0 (7d92eee2cc5ff5f5) MISMATCH
//     Communicator ranks have different AllReduce operation counts
//     3 ranks have launched up to operation 10
//     Rank 2 has launched up to operation 9 -- GPU 2 managed by process 4712 on node 10.0.0.1
//
// It names only ranks that differ from the others; those that it counts are all the rest.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/read_all.hpp"
#include "tracesmith/import/json/source_member.hpp"
#include "tracesmith/import/nccl/ras_importer.hpp"
#include "tracesmith/import/nccl/ras_rows.hpp"

namespace tracesmith::import {
namespace {

constexpr uint64_t kLargestRasText = 256u << 20;

/// Reads a line from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) { skipSpaces(); }

  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  /// Whether `words` come next, and are then read.
  bool take(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    skipSpaces();
    return true;
  }
  std::optional<int64_t> number() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skipSpaces();
    return value;
  }
  std::string_view word() { return upTo(" "); }
  /// What comes before `end`, or all of it; `end` is read as well.
  std::string_view upTo(std::string_view end) {
    const size_t at = std::min(rest_.find(end), rest_.size());
    const std::string_view text = rest_.substr(0, at);
    rest_.remove_prefix(std::min(at + end.size(), rest_.size()));
    skipSpaces();
    return text;
  }

 private:
  void skipSpaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest_;
};

class RasText {
 public:
  explicit RasText(RasRows& rows) : rows_(rows) {}

  void line(std::string_view line);
  void finish();
  /// Whether the last section was seen.
  bool isWhole() const { return is_whole_; }

 private:
  struct Group {
    int64_t nodes = 0, ranks = 0;
  };
  /// "3 ranks have launched up to operation 10".
  struct Counted {
    size_t communicator = 0;
    std::string operation;
    int64_t ranks = 0;
    RasRank facts;
    bool are_named = false;
  };

  void groupLine(LineReader line);
  bool startCommunicator(LineReader line);
  bool commonLine(LineReader line);
  bool listLine(LineReader line);
  void rankLine(std::string_view line);
  void processLine(LineReader line);
  void fact(LineReader& line, RasRank& rank);
  void addUnnamed(const Counted& counted);
  RasCommunicator& communicator() { return communicators_[at_]; }
  RasRank& rankOf(int64_t number) { return rankOf(at_, number); }
  RasRank& rankOf(size_t communicator, int64_t number);

  RasRows& rows_;
  std::map<int64_t, Group> groups_;
  std::vector<RasCommunicator> communicators_;
  std::map<std::string, size_t> by_hash_;
  std::map<std::pair<size_t, int64_t>, size_t> by_rank_;  // communicator and rank
  size_t at_ = 0;                // the communicator that the lines are about
  std::string operation_;        // whose counts they are about
  std::string error_ = "error";  // when it happened
  RasRank common_;               // what is true of all ranks that are named next
  std::vector<Counted> counted_;
  int64_t unnamed_ = 0;          // ranks that were made for them
  std::string_view process_is_;  // what is true of the processes that are named next
  bool in_groups_ = false;
  bool is_whole_ = false;
};

/// "    0         1         1         4         4         4   RUNNING  MISMATCH"
void RasText::groupLine(LineReader line) {
  if (line.take("#")) return;  // the second line of the header
  const std::optional<int64_t> number = line.number();
  in_groups_ = number && line.number();  // of communicators
  if (!in_groups_) return;
  const int64_t nodes = line.number().value_or(0);
  line.word();  // ranks of a node, maybe as 2-4
  groups_[*number] = {nodes, line.number().value_or(0)};
}

/// "#0-1 (7d92eee2cc5ff5f5) MISMATCH". There may be several such lines for a communicator.
bool RasText::startCommunicator(LineReader line) {
  if (!line.take("#")) return false;
  const std::optional<int64_t> group = line.number();
  if (!group || !line.number() || !line.take("(")) return false;  // "-1" is read as a number
  const std::string hash(line.upTo(")"));
  const auto [known, fresh] = by_hash_.try_emplace(hash, communicators_.size());
  at_ = known->second;
  if (fresh) {
    RasCommunicator& made = communicators_.emplace_back();
    made.hash = "0x" + hash;
    if (const auto of = groups_.find(*group); of != groups_.end()) {
      made.nodes = of->second.nodes;
      made.ranks = of->second.ranks;
    }
  }
  common_ = {};
  common_.answered = !line.take("INCOMPLETE");
  operation_.clear();
  process_is_ = {};
  return true;
}

/// "launched up to operation 9", "not launched any operations", "status ABORT".
void RasText::fact(LineReader& line, RasRank& rank) {
  if (line.take("launched up to operation")) {
    const std::optional<int64_t> count = line.number();
    if (count && *count >= 0) rank.calls.emplace_back(operation_, static_cast<uint64_t>(*count));
  } else if (line.take("not launched any operations")) {
    rank.calls.emplace_back(operation_, 0);
  } else if (line.take("status")) {
    rank.attributes.emplace_back("status", line.word());
  }
}

RasRank& RasText::rankOf(size_t communicator, int64_t number) {
  std::vector<RasRank>& known = communicators_[communicator].known;
  const auto [at, fresh] = by_rank_.try_emplace({communicator, number}, known.size());
  if (fresh) known.emplace_back().rank = number;
  return known[at->second];
}

/// "3 ranks have launched up to operation 10": of the ranks in the lines that follow, or of ranks
/// that are not named. Returns false if it is no such line.
bool RasText::commonLine(LineReader line) {
  if (line.take("Communicator ranks have different")) {
    operation_ = line.word();
    return true;
  }
  if (line.take("Initialization error")) {
    error_ = "initialization_error";
    return true;
  }
  if (line.take("Asynchronous error")) {
    error_ = "asynchronous_error";
    return true;
  }
  const std::optional<int64_t> count = line.number();
  if (!count || !line.take("ranks")) return false;
  const bool answered = common_.answered;
  common_ = {};
  common_.answered = answered;
  if (line.take("have")) {
    fact(line, common_);
    if (!common_.calls.empty()) counted_.push_back({at_, operation_, *count, common_});
  } else if (line.take("reported")) {
    common_.attributes.emplace_back(error_, line.rest());
  }
  communicator().others.insert(communicator().others.end(), common_.calls.begin(),
                               common_.calls.end());
  return true;
}

/// "The missing ranks: 3,5" and "The unknown ranks: 1,2", which NCCL before 2.26 prints. Returns
/// false if it is no such line.
bool RasText::listLine(LineReader line) {
  const bool are_missing = line.take("The missing rank:") || line.take("The missing ranks:");
  if (!are_missing && !line.take("The unknown ranks:")) return false;
  do {
    const std::optional<int64_t> number = line.number();
    if (!number) break;
    RasRank& rank = rankOf(*number);
    rank.attributes.insert(rank.attributes.end(), common_.attributes.begin(),
                           common_.attributes.end());
    if (are_missing && rank.answered) rank.attributes.emplace_back("answered", "false");
    rank.answered = rank.answered && !are_missing;
  } while (line.take(","));
  return true;
}

/// "Rank 2 has launched up to operation 9 -- GPU 2 (NVML 3) managed by process 4712 on node HOST"
void RasText::rankLine(std::string_view whole) {
  constexpr std::string_view kPlace = " -- ";
  const size_t dashes = std::min(whole.find(kPlace), whole.size());
  LineReader line(whole.substr(0, dashes));
  line.take("Rank");
  const std::optional<int64_t> number = line.number();
  if (!number) return;
  RasRank& rank = rankOf(*number);
  if (line.take("has")) {
    fact(line, rank);
  } else if (line.take("reported")) {
    rank.attributes.emplace_back(error_, line.rest());
  } else {
    rank.calls.insert(rank.calls.end(), common_.calls.begin(), common_.calls.end());
    if (!common_.calls.empty()) counted_.back().are_named = true;
    rank.attributes.insert(rank.attributes.end(), common_.attributes.begin(),
                           common_.attributes.end());
  }
  if (rank.answered && !common_.answered) rank.attributes.emplace_back("answered", "false");
  rank.answered = rank.answered && common_.answered;
  if (dashes == whole.size() || rank.pid >= 0) return;
  LineReader place(whole.substr(dashes + kPlace.size()));
  if (!place.take("GPU")) return;  // "[process information not found]"
  rank.attributes.emplace_back("gpu", place.upTo(" managed by process"));
  rank.pid = place.number().value_or(-1);
  if (place.take("on node")) rank.host = place.rest();
}

/// "Process 4711 on node 10.0.0.2 managing GPU 3"
void RasText::processLine(LineReader line) {
  const std::optional<int64_t> pid = line.number();
  if (!pid || !line.take("on node")) return;
  rows_.addProcess(line.word(), *pid, process_is_);
}

void RasText::line(std::string_view whole) {
  if (whole.ends_with('\r')) whole.remove_suffix(1);
  LineReader line(whole);
  if (line.empty()) {
    in_groups_ = false;
    return;
  }
  if (whole.starts_with("Group ")) {
    in_groups_ = true;
  } else if (in_groups_) {
    groupLine(line);
  } else if (whole.starts_with("Warnings")) {
    is_whole_ = true;
  } else if (whole == "DEAD" || whole == "INCOMPLETE") {
    process_is_ = whole == "DEAD" ? "considered dead" : "without data";
  } else if (!startCommunicator(line)) {
    if (line.take("Process")) return processLine(line);
    if (communicators_.empty()) return;
    if (!commonLine(line) && !listLine(line) && line.rest().starts_with("Rank "))
      rankLine(line.rest());
  }
}

/// They are the ranks of the communicator of which no line says how often they called this.
void RasText::addUnnamed(const Counted& counted) {
  constexpr int64_t kMostRanks = 1 << 17;  // in all: more than any job has
  const RasCommunicator& of = communicators_[counted.communicator];
  if (counted.are_named || counted.ranks > kMostRanks || of.ranks > kMostRanks) return;
  const auto ranks_known = static_cast<int64_t>(of.known.size());
  if (unnamed_ + std::max<int64_t>(0, of.ranks - ranks_known) > kMostRanks) return;
  unnamed_ += std::max<int64_t>(0, of.ranks - ranks_known);
  const auto has_count = [&](const RasRank& rank) {
    return std::any_of(rank.calls.begin(), rank.calls.end(),
                       [&](const auto& call) { return call.first == counted.operation; });
  };
  const auto named = std::count_if(of.known.begin(), of.known.end(), has_count);
  const auto silent = std::count_if(of.known.begin(), of.known.end(), [&](const RasRank& rank) {
    return !rank.answered && !has_count(rank);
  });
  if (named + silent + counted.ranks != of.ranks) return;
  for (int64_t number = 0, ranks = of.ranks; number < ranks; ++number) {
    RasRank& rank = rankOf(counted.communicator, number);
    if (rank.answered && !has_count(rank)) {
      rank.calls.insert(rank.calls.end(), counted.facts.calls.begin(), counted.facts.calls.end());
    }
  }
}

void RasText::finish() {
  for (const Counted& counted : counted_) addUnnamed(counted);
  for (const RasCommunicator& communicator : communicators_) rows_.add(communicator);
}

Result<ImportCounts> runRasText(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  std::string cut_short;
  TS_TRY(const Column<char> bytes, readAll(*source, kLargestRasText, 0, cut_short));
  const std::string_view all(bytes.data(), bytes.size());
  DamageLog damage;
  if (!cut_short.empty()) damage.add(all.size(), 0, cut_short);
  TraceBuilder builder(writer, std::move(facts));
  keepSourceMember("text", all, [&](const std::string& key, std::string_view value) {
    builder.setMetadata(key, value);
  });
  RasRows rows(builder);
  RasText text(rows);
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    text.line(all.substr(at, end - at));
    at = end + 1;
  }
  text.finish();
  if (!text.isWhole()) damage.add(all.size(), 0, "the text ends before its section \"Warnings\"");
  ImportCounts counts;
  counts.events = counts.rows = rows.ranks();
  counts.bytes = all.size();
  counts.notes = rows.notes();
  counts.damage = damage.places();
  TS_CHECK_OK(builder.finish(counts, damage.summary()));
  return counts;
}

bool recognisesRasText(const ImportInput& input) {
  const std::string_view head = input.head;
  return head.find("NCCL version ") != std::string_view::npos &&
         head.find("Job summary\n===========") != std::string_view::npos;
}

}  // namespace

constinit const Importer kNcclRasTextImporter = {
    "NCCL RAS text", "tested only with files written by hand", recognisesRasText, runRasText};

}  // namespace tracesmith::import
