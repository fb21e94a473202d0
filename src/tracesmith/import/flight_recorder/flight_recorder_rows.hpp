// SPDX-License-Identifier: Apache-2.0
// Converts the entries of a dump of PyTorch's Flight Recorder to rows: of `comm`, `comm_work`,
// `communicator` and `host_call`. A dump is of one process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tracesmith/import/common/call_paths.hpp"
#include "tracesmith/import/common/rank_list.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/torch_collectives.hpp"
#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/json/json_records.hpp"

namespace tracesmith::import {

class FlightRecorderRows {
 public:
  /// `rank`: that of the process in the job, if known.
  FlightRecorderRows(TraceBuilder& builder, std::optional<uint32_t> rank);

  /// Takes a member of the dump other than its entries, as JSON. The groups ("pg_config") must come
  /// before the entries.
  void member(std::string_view name, std::string_view raw);
  /// Takes an entry, as JSON, which kJsonPadding zeros follow. Returns false if it is none.
  bool entry(std::string_view raw);

  uint64_t entries() const { return entries_; }
  uint64_t rows() const { return rows_; }
  const SpansOfSource& spans() const { return spans_; }
  /// Remarks for the user.
  std::vector<std::string> notes() const;

 private:
  struct Group {
    std::string name, description;
    std::optional<RankList> ranks;
  };
  /// The tensors that an entry names.
  struct Tensors {
    uint64_t elements = 0;
    uint64_t bytes = 0;
    std::string_view type;  // of the first one
  };

  void groups(std::string_view raw);
  const JsonToken& field(int number) const { return records_[number]; }
  std::string text(int number);
  std::optional<int64_t> timeOf(int nanos, int micros);
  Tensors tensors(int sizes, int types);
  CommunicatorId communicator(std::string_view backend, int64_t created_ns);
  CallPathId callPath();
  void comm(int64_t created_ns);
  void work(const CommRow& row);
  uint64_t groupOf(const CommRow& row);

  TraceBuilder& builder_;
  JsonRecords records_;
  CallPaths call_paths_;
  SpansOfSource spans_;
  std::optional<uint32_t> rank_;
  std::map<std::string, Group, std::less<>> groups_;
  std::map<std::tuple<std::string, std::string, std::string>, CommunicatorId> communicators_;
  std::map<std::string, CallPathId, std::less<>> paths_;  // by the text of "frames"
  std::string room_;
  uint64_t entries_ = 0;
  uint64_t rows_ = 0;
  uint64_t correlation_ = 0;    // of the last row
  uint64_t without_ranks_ = 0;  // communicators
  std::set<int64_t> named_threads_;
  // The call before, to see which ones were enqueued together.
  std::tuple<CommunicatorId, int64_t, int64_t> last_group_{};
};

}  // namespace tracesmith::import
