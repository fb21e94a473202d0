// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/flight_recorder_importer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/rank_list.hpp"
#include "tracesmith/import/flight_recorder/pickle_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;
using test::PickleText;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Members = std::vector<std::pair<PickleText, PickleText>>;

constexpr int64_t kCreated = 1'795'952'382'679'313'515;

PickleText frame(std::string_view name, std::string_view file, int line) {
  return PickleText::dict({{"name", name}, {"filename", file}, {"line", line}});
}

/// An entry of version 2.10, as FlightRecorderDetail.hpp writes it. `changed`: members that differ.
PickleText entry(const Members& changed) {
  Members members = {{"frames", PickleText::list({frame("all_reduce", "distributed_c10d.py", 4174),
                                                  frame("step", "train.py", 5),
                                                  frame("<module>", "train.py", 9)})},
                     {"record_id", 0},
                     {"pg_id", 0},
                     {"process_group", PickleText::list({"0", "default_pg"})},
                     {"thread_name", "pt_main"},
                     {"thread_id", "139787050670976"},
                     {"collective_seq_id", 1},
                     {"p2p_seq_id", 0},
                     {"op_id", 1},
                     {"profiling_name", "nccl:all_reduce"},
                     {"time_created_ns", kCreated},
                     {"input_sizes", PickleText::list({PickleText::list({10, 100})})},
                     {"input_dtypes", PickleText::list({"Float"})},
                     {"output_sizes", PickleText::list({PickleText::list({10, 100})})},
                     {"output_dtypes", PickleText::list({"Float"})},
                     {"state", "completed"},
                     {"time_discovered_started_ns", kCreated + 1000},
                     {"time_discovered_completed_ns", kCreated + 5000},
                     {"retired", PickleText::boolean(true)},
                     {"timeout_ms", 600000},
                     {"is_p2p", PickleText::boolean(false)}};
  for (const auto& change : changed) {
    const auto known = std::find_if(members.begin(), members.end(), [&](const auto& member) {
      return member.first.bytes() == change.first.bytes();
    });
    if (known == members.end()) {
      members.push_back(change);
    } else {
      known->second = change.second;
    }
  }
  return PickleText::dict(members);
}

std::string dump(const std::vector<PickleText>& entries, const Members& more = {}) {
  Members members = {
      {"version", "2.10"},
      {"pg_config", PickleText::dict({{"0", PickleText::dict({{"name", "0"},
                                                              {"desc", "default_pg"},
                                                              {"ranks", "[0, 1, 2, 3]"}})}})},
      {"pg_status",
       PickleText::dict({{"0", PickleText::dict({{"last_enqueued_collective", 3},
                                                 {"last_completed_collective", 1}})}})},
      {"entries", PickleText::list(entries)}};
  members.insert(members.end(), more.begin(), more.end());
  return PickleText::dict(members).file();
}

TEST(FlightRecorderImporter, AnEntryIsACallWithItsWork) {
  const ImportedText got = importText(dump({entry({})}));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "PyTorch Flight Recorder");
  EXPECT_EQ(got.counts.events, 1U);
  EXPECT_EQ(got.counts.rows, 1U);
  EXPECT_THAT(got.counts.damage, IsEmpty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.comm.size(), 1U);
  EXPECT_EQ(t.comm.start_ns[0], kCreated);
  EXPECT_EQ(t.text(t.comm.function[0]), "ncclAllReduce");
  EXPECT_EQ(t.comm.kind[0], CommKind::kCollective);
  EXPECT_EQ(t.comm.sequence[0], 1U);
  EXPECT_EQ(t.comm.element_count[0], 1000U);
  EXPECT_EQ(t.comm.send_bytes[0], 4000U);
  EXPECT_EQ(t.comm.receive_bytes[0], 4000U);
  EXPECT_EQ(t.text(t.comm.data_type[0]), "float32");
  EXPECT_EQ(t.comm.state[0], CommState::kCompleted);
  ASSERT_EQ(t.comm_work.size(), 1U);
  EXPECT_EQ(t.comm_work.start_ns[0], kCreated + 1000);
  EXPECT_EQ(t.comm_work.duration_ns[0], 4000);
  EXPECT_EQ(t.comm_work.timing_source[0], TimingSource::kHost);
  EXPECT_EQ(t.comm_work.correlation_id[0], t.comm.correlation_id[0]);
  ASSERT_EQ(t.communicator.size(), 1U);
  EXPECT_EQ(t.text(t.communicator.name[0]), "default_pg");
  EXPECT_EQ(t.text(t.communicator.members[0]), "0-3");
  EXPECT_EQ(t.text(t.communicator.library[0]), "NCCL");
  EXPECT_EQ(t.communicator.ranks[0], 4U);
  const auto ranks = RankList::read("[0, 1, 2, 3]");
  EXPECT_EQ(t.communicator.key[0], communicatorKey("0", &*ranks));
  ASSERT_EQ(t.host_call.size(), 1U);
  EXPECT_EQ(t.text(t.host_call.name[0]), "nccl:all_reduce");
  EXPECT_EQ(t.text(t.thread.name[t.thread.size() - 1]), "pt_main");
  EXPECT_EQ(t.metadataValue("source.version"), "\"2.10\"");
  EXPECT_THAT(std::string(t.metadataValue("source.pg_status")), HasSubstr("last_enqueued"));
  ASSERT_EQ(t.clock_snapshot.size(), 1U);
  EXPECT_EQ(t.clock_snapshot.clock_value[0], kCreated);
}

TEST(FlightRecorderImporter, FramesAreACallPath) {
  const ImportedText got = importText(dump({entry({}), entry({{"op_id", 2}})}));
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  EXPECT_EQ(t.host_call.call_path_id[0], t.host_call.call_path_id[1]);
  EXPECT_EQ(t.call_path.size(), 3U);
  std::vector<std::string> functions;  // from the innermost
  for (CallPathId path = t.host_call.call_path_id[0]; path != CallPathId::kNone;
       path = t.call_path.parent[indexOf(path)]) {
    const FrameRow frame = t.frame.row(indexOf(t.call_path.frame[indexOf(path)]));
    functions.push_back(
        fmt::format("{} {}:{}", t.text(frame.function), t.text(frame.file), frame.line));
  }
  EXPECT_THAT(functions, ElementsAre("all_reduce distributed_c10d.py:4174", "step train.py:5",
                                     "<module> train.py:9"));
}

TEST(FlightRecorderImporter, WhatHasNotEndedHasNoWork) {
  const ImportedText got = importText(
      dump({entry({{"state", "started"}, {"time_discovered_completed_ns", PickleText::none()}}),
            entry({{"state", "scheduled"},
                   {"time_discovered_started_ns", PickleText::none()},
                   {"time_discovered_completed_ns", PickleText::none()}})}));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.comm.state[0], CommState::kStarted);
  EXPECT_EQ(got.trace.comm.state[1], CommState::kScheduled);
  EXPECT_TRUE(got.trace.comm_work.empty());
}

TEST(FlightRecorderImporter, EventsOfTheDeviceTimeTheWork) {
  const PickleText duration = PickleText::raw({"G\x3f\xf8\0\0\0\0\0\0", 9});  // 1.5 ms
  const ImportedText got = importText(dump(
      {entry({{"duration_ms", duration}}),
       entry({{"duration_ms", duration}, {"time_discovered_started_ns", PickleText::none()}})}));
  ASSERT_TRUE(got.ok) << got.error;
  const CommWorkTable& work = got.trace.comm_work;
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work.timing_source[0], TimingSource::kDeviceEvents);
  EXPECT_EQ(work.duration_ns[0], 1'500'000);
  EXPECT_EQ(work.start_ns[0], kCreated + 1000);
  EXPECT_EQ(work.start_ns[1], kCreated + 5000 - 1'500'000);
}

TEST(FlightRecorderImporter, Operations) {
  struct Expected {
    std::string_view name, function;
    CommKind kind;
    int64_t peer;
    uint64_t send, receive, elements;
  };
  constexpr Expected kExpected[] = {
      // in: 10 elements of 2 bytes, out: 40
      {"nccl:_allgather_base", "ncclAllGather", CommKind::kCollective, -1, 20, 80, 10},
      {"nccl:_reduce_scatter_base", "ncclReduceScatter", CommKind::kCollective, -1, 20, 80, 40},
      {"nccl:broadcast", "ncclBroadcast", CommKind::kCollective, -1, 0, 80, 10},
      {"nccl:reduce", "ncclReduce", CommKind::kCollective, -1, 20, 0, 10},
      {"nccl:all_to_all", "all_to_all", CommKind::kCollective, -1, 20, 80, 10},
      {"nccl:send 1->2", "ncclSend", CommKind::kSend, 2, 80, 0, 10},
      {"nccl:recv 3<-0", "ncclRecv", CommKind::kReceive, 0, 0, 80, 40},
      {"gloo:recv 3<-?", "recv", CommKind::kReceive, -1, 0, 80, 40},
      {"gloo:all_reduce", "all_reduce", CommKind::kCollective, -1, 20, 80, 10},
      {"nccl:coalesced", "coalesced", CommKind::kOther, -1, 20, 80, 10},
      {"unknown", "unknown", CommKind::kOther, -1, 20, 80, 10},
  };
  for (const Expected& e : kExpected) {
    const PickleText half = PickleText::list({"BFloat16"});
    const ImportedText got = importText(dump({entry({
        {"profiling_name", e.name},
        {"input_sizes", PickleText::list({PickleText::list({10})})},
        {"output_sizes", PickleText::list({PickleText::list({4, 10})})},
        {"input_dtypes", half},
        {"output_dtypes", half},
    })}));
    ASSERT_TRUE(got.ok) << got.error;
    const CommRow row = got.trace.comm.row(0);
    EXPECT_EQ(got.trace.text(row.function), e.function);
    EXPECT_EQ(row.kind, e.kind) << e.name;
    EXPECT_EQ(row.peer, e.peer) << e.name;
    EXPECT_EQ(row.send_bytes, e.send) << e.name;
    EXPECT_EQ(row.receive_bytes, e.receive) << e.name;
    EXPECT_EQ(row.element_count, e.elements) << e.name;
    EXPECT_EQ(got.trace.text(row.data_type), "bfloat16");
    EXPECT_EQ(row.sequence, e.kind == CommKind::kCollective ? 1U : 0U) << e.name;
  }
}

TEST(FlightRecorderImporter, CallsThatWereEnqueuedTogetherAreAGroup) {
  const auto of = [](int sequence, int p2p, int operation) {
    return entry({{"collective_seq_id", sequence}, {"p2p_seq_id", p2p}, {"op_id", operation}});
  };
  const ImportedText got =
      importText(dump({of(1, 0, 1), of(2, 0, 2), of(2, 0, 3), of(2, 0, 4), of(2, 1, 5)}));
  ASSERT_TRUE(got.ok) << got.error;
  const auto& group = got.trace.comm.group_id;
  EXPECT_EQ(group[0], 0U);
  EXPECT_NE(group[1], 0U);
  EXPECT_EQ(group[2], group[1]);
  EXPECT_EQ(group[3], group[1]);
  EXPECT_EQ(group[4], 0U);
}

TEST(FlightRecorderImporter, GroupsThatTheDumpDoesNotDescribe) {
  const ImportedText got = importText(
      dump({entry({{"process_group", PickleText::list({"7", "undefined"})}}), entry({})}));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.communicator.size(), 2U);
  EXPECT_EQ(got.trace.text(got.trace.communicator.name[0]), "7");
  EXPECT_EQ(got.trace.communicator.key[0], communicatorKey("7", nullptr));
  EXPECT_EQ(got.trace.communicator.ranks[0], 0U);
  EXPECT_THAT(got.counts.notes, Contains(HasSubstr("does not list the ranks of 1 process groups")));
}

/// The same dump in JSON, as `_dump_nccl_trace_json` writes it: keys in order, 0 for no time.
constexpr std::string_view kJson =
    R"({"comm_lib_version":"2.27.5","entries":[{"collective_seq_id":1,"input_dtypes":["Float"],)"
    R"("input_sizes":[[1000]],"is_p2p":false,"op_id":1,"output_dtypes":["Float"],)"
    R"("output_sizes":[[1000]],"p2p_seq_id":0,"pg_id":0,"process_group":["0","default_pg"],)"
    R"("profiling_name":"nccl:all_reduce","record_id":0,"retired":false,"state":"started",)"
    R"("thread_id":"139787050670976","thread_name":"pt_main","time_created_ns":1795952382679313515,)"
    R"("time_discovered_completed_ns":0,"time_discovered_started_ns":1795952382679413515,)"
    R"("timeout_ms":600000},{"collective_seq_id":2,"input_dtypes":["Float"],"input_sizes":[[1]],)"
    R"("is_p2p":false,"op_id":2,"output_dtypes":["Float"],"output_sizes":[[1]],"p2p_seq_id":0,)"
    R"("pg_id":0,"process_group":["0","default_pg"],"profiling_name":"nccl:broadcast",)"
    R"("record_id":1,"retired":false,"state":"scheduled","time_created_ns":1795952382679513515,)"
    R"("time_discovered_completed_ns":0,"time_discovered_started_ns":0,"timeout_ms":600000}],)"
    R"("pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[0, 1, 2, 3]"}},)"
    R"("pg_status":{"0":{"last_completed_collective":"0"}},"version":"2.10"})";

TEST(FlightRecorderImporter, JsonSaysTheSame) {
  const ImportedText got = importText(kJson);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "PyTorch Flight Recorder JSON");
  ASSERT_EQ(got.trace.comm.size(), 2U);
  EXPECT_EQ(got.trace.comm.start_ns[0], kCreated);
  EXPECT_EQ(got.trace.comm.state[0], CommState::kStarted);
  EXPECT_EQ(got.trace.comm.state[1], CommState::kScheduled);
  EXPECT_TRUE(got.trace.comm_work.empty());
  EXPECT_EQ(got.trace.text(got.trace.communicator.members[0]), "0-3");
  EXPECT_EQ(got.trace.metadataValue("source.comm_lib_version"), "\"2.27.5\"");
  EXPECT_THAT(got.counts.damage, IsEmpty());
}

TEST(FlightRecorderImporter, OlderDumps) {
  // A list of entries, with one number for all calls of a group, and microseconds.
  const ImportedText got = importText(
      R"([{"pg_id":0,"seq_id":5,"profiling_name":"nccl:all_reduce","time_created_us":1700000000000001,)"
      R"("input_sizes":[[2]],"output_sizes":[[2]],"state":"scheduled"}])");
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.comm.size(), 1U);
  EXPECT_EQ(got.trace.comm.start_ns[0], 1700000000000001000);
  EXPECT_EQ(got.trace.comm.sequence[0], 5U);
  EXPECT_EQ(got.trace.comm.element_count[0], 2U);
  EXPECT_EQ(got.trace.comm.send_bytes[0], 0U);   // of which type they are it does not say
  EXPECT_EQ(got.trace.communicator.key[0], 0U);  // nor which group it is to others
}

TEST(FlightRecorderImporter, NumbersThatRepeatOrAreAbsurd) {
  const ImportedText got = importText(dump(
      {entry({}), entry({}), entry({{"collective_seq_id", -1}, {"thread_id", "x"}}),
       entry({{"input_sizes",
               PickleText::list({PickleText::list({int64_t{1} << 40, int64_t{1} << 40, -5})})}}),
       entry({{"time_created_ns", PickleText::none()}}),
       entry({{"frames", PickleText::list({"text", PickleText::none()})}})}));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.counts.events, 6U);
  EXPECT_EQ(got.counts.rows, 5U);
  EXPECT_NE(got.trace.comm.correlation_id[0], got.trace.comm.correlation_id[1]);
  EXPECT_EQ(got.trace.comm.sequence[2], 0U);
  EXPECT_EQ(got.trace.comm.send_bytes[3], 0U);
  EXPECT_THAT(got.counts.notes, Contains(HasSubstr("1 entries have no readable time")));
}

TEST(FlightRecorderImporter, ObjectsAreRefused) {
  const ImportedText got =
      importText(dump({PickleText::raw("cos\nsystem\nX\x02\0\0\0id\x85R"), entry({})}));
  ASSERT_FALSE(got.ok);
  EXPECT_THAT(got.error, HasSubstr("an object other than plain data (opcode GLOBAL at byte"));
}

TEST(FlightRecorderImporter, BombsCostTheirEntry) {
  std::string bomb =
      "](K\x01"
      "e";
  for (int i = 0; i < 40; ++i) bomb += "2\x86";
  const ImportedText got = importText(dump({entry({{"more", PickleText::raw(bomb)}}), entry({})}));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.counts.rows, 1U);
  ASSERT_EQ(got.counts.damage.size(), 1U);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("too large"));
}

TEST(FlightRecorderImporter, OtherPicklesAreNoDump) {
  const ImportedText got = importText(PickleText::dict({{"profiling_name", 1}}).file());
  ASSERT_FALSE(got.ok);
  EXPECT_THAT(got.error, HasSubstr("no dump of the Flight Recorder"));
}

TEST(FlightRecorderImporter, CutPicklesHaveTheEntriesBefore) {
  const std::string whole = dump({entry({}), entry({}), entry({})});
  size_t most = 0;
  for (size_t cut = whole.size() / 3; cut < whole.size(); cut += 7) {
    const ImportedText got = importText(std::string_view(whole).substr(0, cut));
    ASSERT_TRUE(got.ok) << cut << got.error;
    EXPECT_FALSE(got.counts.damage.empty());
    EXPECT_GE(got.counts.rows, most);  // the more of the file, the more entries
    most = std::max<size_t>(most, got.counts.rows);
  }
  EXPECT_GE(most, 2U);
}

TEST(FlightRecorderImporter, DamagedFiles) {
  importDamaged(dump({entry({}), entry({{"op_id", 2}})}), test::Cut::kShows, 200, 300);
  importDamaged(kJson, test::Cut::kShows, 200, 300);
}

}  // namespace
}  // namespace tracesmith::import
