// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/inspector_importer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The examples of the Inspector's README: a collective, and a verbose one.
constexpr std::string_view kPlain =
    R"({"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},)"
    R"("metadata":{"inspector_output_format_version":"v4.0","git_rev":"",)"
    R"("rec_mechanism":"profiler_plugin","dump_timestamp_us":1748030377748202,)"
    R"("hostname":"example-hostname","pid":1639453},)"
    R"("coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,)"
    R"("coll_exec_time_us":61974,"coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099}})";
constexpr std::string_view kVerbose =
    R"({"header":{"id":"0xe62dedaa97644a","comm_name":"DP Group 0","rank":4,"n_ranks":8,"nnodes":2},)"
    R"("metadata":{"inspector_output_format_version":"v4.0","git_rev":"9019a1912-dirty",)"
    R"("rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1752867229276385,)"
    R"("hostname":"example-hostname","pid":438776},)"
    R"("coll_perf":{"coll":"ReduceScatter","coll_sn":1231,"coll_msg_size_bytes":2147483648,)"
    R"("coll_exec_time_us":41057,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":418.439467,)"
    R"("coll_busbw_gbs":366.134533,"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,)"
    R"("kernel_events":[{"channel_id":0,"kernel_start_sn":3,"kernel_stop_sn":48,)"
    R"("kernel_record_sn":47}]},"event_trace_ts":{"coll_start_ts":1752867229235059,)"
    R"("coll_stop_ts":1752867229235064,"kernel_events":[{"channel_id":0,)"
    R"("kernel_start_ts":1752867229235181,"kernel_stop_ts":1752867229275811,)"
    R"("kernel_record_ts":1752867229275811},{"channel_id":1,"kernel_start_ts":1752867229235179,)"
    R"("kernel_stop_ts":0,"kernel_record_ts":0}]}}})";

/// GB/s, by the definitions of NCCL's tests: S / t, and the share of S that each link carries.
double algorithmBandwidth(const Trace& t, size_t row) {
  const uint64_t bytes = std::max(t.comm.send_bytes[row], t.comm.receive_bytes[row]);
  for (size_t i = 0; i < t.comm_work.size(); ++i) {
    if (t.comm_work.correlation_id[i] == t.comm.correlation_id[row] &&
        t.comm_work.kind[i] == CommWorkKind::kOperation) {
      return static_cast<double>(bytes) / static_cast<double>(t.comm_work.duration_ns[i]);
    }
  }
  return 0;
}

TEST(NcclInspectorImporter, FiguresOfTheFileComeOutOfOurs) {
  const ImportedText got = importText(std::string(kPlain) + "\n" + std::string(kVerbose) + "\n");
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "NCCL Inspector");
  EXPECT_EQ(got.counts.events, 2U);
  EXPECT_EQ(got.counts.rows, 2U);
  EXPECT_THAT(got.counts.damage, IsEmpty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.comm.size(), 2U);
  EXPECT_EQ(t.text(t.comm.function[0]), "ncclAllReduce");
  EXPECT_EQ(t.comm.kind[0], CommKind::kCollective);
  EXPECT_EQ(t.comm.sequence[0], 1408U);
  EXPECT_NEAR(algorithmBandwidth(t, 0), 277.210914, 1e-6);
  EXPECT_NEAR(algorithmBandwidth(t, 0) * 2 * 7 / 8, 485.119099, 1e-6);
  EXPECT_NEAR(algorithmBandwidth(t, 1), 418.439467, 1e-6);
  EXPECT_NEAR(algorithmBandwidth(t, 1) * 7 / 8, 366.134533, 1e-6);
  ASSERT_EQ(t.communicator.size(), 2U);
  EXPECT_EQ(t.communicator.key[0], 0x7f8c496ae9f661U);
  EXPECT_EQ(t.communicator.ranks[0], 8U);
  EXPECT_EQ(t.communicator.rank[0], 2);
  EXPECT_EQ(t.communicator.nodes[1], 2U);
  EXPECT_EQ(t.text(t.communicator.name[1]), "DP Group 0");
  EXPECT_EQ(t.text(t.communicator.library[0]), "NCCL");
  EXPECT_EQ(t.process.pid[indexOf(t.comm.process_id[0])], 1639453U);
  EXPECT_EQ(t.metadataValue("hostname"), "example-hostname");
}

/// Without events the file only has the order of the calls, and how long each took.
TEST(NcclInspectorImporter, LinesWithoutStartsKeepTheirOrder) {
  std::string lines;
  for (const int lasted_us : {30, 1000, 5, 700}) {
    std::string line(kPlain);
    line.replace(line.find("61974"), 5, std::to_string(lasted_us));
    lines += line + "\n";
  }
  const ImportedText got = importText(lines);
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  ASSERT_EQ(t.comm.size(), 4U);
  for (size_t i = 1; i < 4; ++i) EXPECT_GE(t.comm.start_ns[i], t.comm.start_ns[i - 1]) << i;
  for (size_t i = 0; i < 4; ++i) EXPECT_GT(t.comm_work.error_ns[i], 1'000'000'000'000) << i;
  EXPECT_EQ(t.comm_work.duration_ns[1], 1'000'000);
}

TEST(NcclInspectorImporter, VerboseLinesSayWhen) {
  const ImportedText got = importText(kVerbose);
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  EXPECT_EQ(t.comm.start_ns[0], 1752867229235059000);
  EXPECT_EQ(t.comm.duration_ns[0], 5000);
  EXPECT_EQ(t.comm.channels[0], 2U);
  ASSERT_EQ(t.comm_work.size(), 2U);
  EXPECT_EQ(t.comm_work.start_ns[0], 1752867229235179000);  // the first channel's
  EXPECT_EQ(t.comm_work.duration_ns[0], 41057000);
  EXPECT_EQ(t.comm_work.timing_source[0], TimingSource::kDeviceEvents);
  EXPECT_EQ(t.comm_work.channels[0], 1U);  // of the other one it never learnt the end
  EXPECT_EQ(t.comm_work.kind[1], CommWorkKind::kChannel);
  EXPECT_EQ(t.comm_work.channel[1], 0U);
  EXPECT_EQ(t.comm_work.duration_ns[1], 40630000);
  EXPECT_EQ(t.comm_work.timing_source[1], TimingSource::kHost);
  EXPECT_THAT(got.counts.notes, IsEmpty());
}

TEST(NcclInspectorImporter, WithoutATraceOfEventsTheTimeIsTheLatestPossible) {
  const ImportedText got = importText(kPlain);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.comm.start_ns[0], (1748030377748202 - 61974) * 1000);
  EXPECT_EQ(got.trace.comm.duration_ns[0], 0);
  EXPECT_EQ(got.trace.comm_work.timing_source[0], TimingSource::kUnknown);
  EXPECT_THAT(got.counts.notes, ElementsAre(HasSubstr("NCCL_INSPECTOR_DUMP_VERBOSE=1")));
}

std::string operation(std::string_view kind, std::string_view name, std::string_view more,
                      int rank = 0, std::string_view host = "a", int pid = 7) {
  return fmt::format(
             R"({{"header":{{"id":"0x1","rank":{3},"n_ranks":4,"nnodes":1}},"metadata":{{"dump_timestamp_us":)"
             R"(1000000,"hostname":"{4}","pid":{5}}},"{0}_perf":{{"{0}":"{1}","{0}_sn":3,)"
             R"("{0}_msg_size_bytes":100,"{0}_exec_time_us":10{2}}}}})",
             kind, name, more, rank, host, pid) +
         "\n";
}

TEST(NcclInspectorImporter, BytesAreThoseThatTheRankSendsAndReceives) {
  struct Expected {
    std::string_view kind, name;
    uint64_t send, receive;
    std::string_view function;
    CommKind is;
  };
  constexpr Expected kExpected[] = {
      {"coll", "AllReduce", 100, 100, "ncclAllReduce", CommKind::kCollective},
      {"coll", "AllGather", 100, 400, "ncclAllGather", CommKind::kCollective},
      {"coll", "ReduceScatter", 400, 100, "ncclReduceScatter", CommKind::kCollective},
      {"coll", "Broadcast", 0, 100, "ncclBroadcast", CommKind::kCollective},
      {"coll", "Reduce", 100, 0, "ncclReduce", CommKind::kCollective},
      {"coll", "All2All", 400, 400, "ncclAlltoAll", CommKind::kCollective},
      {"p2p", "Send", 100, 0, "ncclSend", CommKind::kSend},
      {"p2p", "Recv", 0, 100, "ncclRecv", CommKind::kReceive},
      {"p2p", "SendRecv", 100, 100, "ncclSendRecv", CommKind::kExchange},
      {"coll", "Invalid", 100, 100, "ncclInvalid", CommKind::kOther},
  };
  for (const Expected& e : kExpected) {
    const ImportedText got =
        importText(operation(e.kind, e.name, e.kind == "p2p" ? R"(,"p2p_peer":2)" : ""));
    ASSERT_TRUE(got.ok) << got.error;
    ASSERT_EQ(got.trace.comm.size(), 1U);
    EXPECT_EQ(got.trace.comm.send_bytes[0], e.send) << e.name;
    EXPECT_EQ(got.trace.comm.receive_bytes[0], e.receive) << e.name;
    EXPECT_EQ(got.trace.text(got.trace.comm.function[0]), e.function);
    EXPECT_EQ(got.trace.comm.kind[0], e.is);
    EXPECT_EQ(got.trace.comm.peer[0], e.kind == "p2p" ? 2 : -1);
    EXPECT_EQ(got.trace.comm.sequence[0], e.is == CommKind::kCollective ? 4U : 0U);
  }
}

TEST(NcclInspectorImporter, RanksAndProcessesAreToldApart) {
  // A process with two GPUs, and one of another host with the same number.
  const ImportedText got = importText(
      operation("coll", "AllReduce", "", 0) + operation("coll", "AllReduce", "", 1) +
      operation("coll", "AllReduce", "", 2, "b") + operation("coll", "AllReduce", "", 0));
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  EXPECT_THAT(std::vector<int64_t>(t.communicator.rank.begin(), t.communicator.rank.end()),
              ElementsAre(0, 1, 2));
  EXPECT_EQ(t.process.size(), 2U);
  EXPECT_EQ(t.process.pid[0], 7U);
  EXPECT_EQ(t.process.pid[1], 7U);
  EXPECT_EQ(t.text(t.process.command_line[1]), "on b");
  EXPECT_EQ(t.comm.communicator_id[0], t.comm.communicator_id[3]);
  EXPECT_EQ(t.metadataValue("hostname"), "");
}

TEST(NcclInspectorImporter, HostileNumbersAreNoHarm) {
  std::string text(kPlain);
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{R"("n_ranks":8)", R"("n_ranks":99999999999)"},
        {R"("coll_sn":1407)", R"("coll_sn":-1)"},
        {R"("coll_exec_time_us":61974)", R"("coll_exec_time_us":-5)"},
        {"17179869184", "9223372036854775807"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  const ImportedText got = importText(text + "\n" + text);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.communicator.ranks[0], UINT32_MAX);
  EXPECT_EQ(got.trace.comm.sequence[0], 0U);
  EXPECT_EQ(got.trace.comm_work.duration_ns[0], 0);
  EXPECT_THAT(got.counts.notes, ::testing::Contains(HasSubstr("end before they start")));
}

TEST(NcclInspectorImporter, LinesWithoutATimeAreKept) {
  std::string text(kPlain);
  text.replace(text.find("dump_timestamp_us"), 17, "other");
  const ImportedText got = importText(std::string(kVerbose) + "\n" + text);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.counts.rows, 1U);
  EXPECT_EQ(got.counts.others, 1U);
  EXPECT_THAT(got.counts.notes, ElementsAre(HasSubstr("no readable time")));
}

TEST(NcclInspectorImporter, DamagedFiles) {
  importDamaged(
      std::string(kPlain) + "\n" + std::string(kVerbose) + "\n" + std::string(kPlain) + "\n",
      test::Cut::kHides, 300, 300);
}

}  // namespace
}  // namespace tracesmith::import
