// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <type_traits>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"
#include "tracesmith/analysis/report/report.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;
using ::testing::HasSubstr;

std::map<std::string, ReportTable> reportOf(const Trace& trace) {
  ReportOptions options;
  options.parts = {AnalysisPart::kCommunication};
  options.limit = 0;
  std::map<std::string, ReportTable> tables;
  for (ReportTable& table : analyze(trace, options)) {
    const std::string key = table.key;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << key;
    tables[key] = std::move(table);
  }
  return tables;
}

/// The value of a row in a column, as text.
std::string valueOf(const ReportTable& table, size_t row, std::string_view key) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key != key) continue;
    const ReportValue& value = table.rows.at(row)[i];
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    return std::holds_alternative<double>(value) ? "a number" : "none";
  }
  return "no such column";
}

/// Rank 2 is late; of the last collective it is not in.
CommTrace lateJob() {
  CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 3; ++rank) {
    for (uint64_t number = 0; number < 3; ++number) {
      if (rank == 2 && number == 2) continue;
      const auto start = static_cast<int64_t>(1'000 * number + (rank == 2 ? 300 : rank));
      CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, start, 5);
      row.sequence = number + 1;
      row.send_bytes = row.receive_bytes = 4096;
      const uint64_t id = made.add();
      if (number < 2) made.work(rank, id, start, 400);
    }
    made.message(rank, world[rank], true, (rank + 1) % 3, 5'000, 10, 64);
    made.message(rank, world[rank], false, (rank + 2) % 3, 5'000, 10, 64);
  }
  return made;
}

TEST(ReportCommunication, HasWhatTheAnalysesFound) {
  auto tables = reportOf(lateJob().trace);
  EXPECT_EQ(valueOf(tables["comm_late_ranks"], 0, "rank"), "2");
  EXPECT_EQ(valueOf(tables["comm_late_ranks"], 0, "times_last"), "2");
  EXPECT_EQ(valueOf(tables["comm_late_ranks"], 0, "late_ns"), "598");
  EXPECT_EQ(valueOf(tables["comm_collectives"], 0, "last_rank"), "2");
  EXPECT_EQ(valueOf(tables["comm_hangs"], 0, "collective"), "ncclAllReduce #3");
  EXPECT_EQ(valueOf(tables["comm_hangs"], 0, "waiting"), "0-1");
  EXPECT_EQ(valueOf(tables["comm_hangs"], 0, "rank"), "2");
  EXPECT_EQ(valueOf(tables["comm_hangs"], 0, "state"), "never came");
  EXPECT_EQ(tables["comm_pairs"].rows.size(), 3u);
  EXPECT_EQ(valueOf(tables["comm_matrix"], 0, "to_1"), "64");
  EXPECT_EQ(valueOf(tables["comm_matrix"], 0, "to_2"), "none");
  EXPECT_THAT(tables["comm_pairs"].note, HasSubstr("8 calls of collectives are not in it"));
  EXPECT_THAT(tables["comm_communicators"].note, HasSubstr("largest communicator"));
}

TEST(ReportCommunication, ATraceWithoutCallsHasTheKernelsAlone) {
  const auto tables = reportOf(Trace());
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables.begin()->first, "comm");
}

TEST(ReportCommunication, ManyRanksHaveNoMatrix) {
  CommTrace made(17);
  const auto world = made.world();
  for (uint32_t rank = 0; rank < 17; ++rank) {
    made.message(rank, world[rank], true, (rank + 1) % 17, 100, 10, 64);
  }
  EXPECT_FALSE(reportOf(made.trace).contains("comm_matrix"));
}

TEST(ReportCommunication, RanksWithClocksOfTheirOwnAreNotComparedAndTheRestIs) {
  CommTrace made = lateJob();
  made.merge({0, 0, 0}, false);
  auto tables = reportOf(made.trace);
  EXPECT_FALSE(tables.contains("comm_late_ranks"));
  EXPECT_THAT(tables["comm_arrivals"].note, HasSubstr("each rank has its own clock"));
  EXPECT_EQ(tables["comm_hangs"].rows.size(), 1u);
  EXPECT_EQ(tables["comm_pairs"].rows.size(), 3u);
  EXPECT_EQ(valueOf(tables["comm_messages"], 0, "not_resolved"), "1");
}

/// Replaces some values of a table's columns by any.
template <class Table>
void damage(Table& table, std::mt19937_64& chance) {
  Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    for (auto& value : column) {
      if (chance() % 8 != 0) continue;
      const uint64_t any = chance() % 4 == 0 ? chance() : chance() % 8;
      if constexpr (std::is_enum_v<T>) {
        value = static_cast<T>(static_cast<std::underlying_type_t<T>>(any));
      } else {
        value = static_cast<T>(any);
      }
    }
  });
}

TEST(ReportCommunication, AnyValuesDoNoHarm) {
  std::mt19937_64 chance(11);
  for (int round = 0; round < 300; ++round) {
    CommTrace made = lateJob();
    if (round % 2 == 0) made.merge({0, 10, 20}, round % 4 == 0);
    made.trace.loss.push({.id = LossId{1},
                          .source = made.text("MPI calls"),
                          .process_id = ProcessId{1},
                          .emitted = 2,
                          .written = 1,
                          .dropped = 1});
    made.trace.stream.push({.id = StreamId{1}, .process_id = ProcessId{1}, .handle = 1});
    made.trace.host_call.push({.start_ns = 3,
                               .duration_ns = 5,
                               .process_id = ProcessId{1},
                               .thread_id = ThreadId{1},
                               .correlation_id = 1,
                               .call_path_id = CallPathId{1}});
    made.trace.kernel.push({.start_ns = 5,
                            .duration_ns = 50,
                            .name = made.text("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                            .process_id = ProcessId{1},
                            .thread_id = ThreadId{1},
                            .stream_id = StreamId{1},
                            .correlation_id = 1});
    damage(made.trace.comm, chance);
    damage(made.trace.comm_work, chance);
    damage(made.trace.communicator, chance);
    damage(made.trace.loss, chance);
    damage(made.trace.host_call, chance);
    damage(made.trace.process, chance);
    if (round % 3 == 0) damage(made.trace.stream, chance);
    EXPECT_GE(reportOf(made.trace).size(), 8u);
  }
}

}  // namespace
}  // namespace tracesmith
