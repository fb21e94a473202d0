// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/ras_importer.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Laid out as src/ras/client_support.cc prints it: two ranks, of which one is behind, and a third
/// that did not answer.
constexpr std::string_view kRasJson = R"({
  "nccl_version": "2.29.2",
  "cuda_runtime_version": 13000,
  "cuda_driver_version": 13010,
  "timestamp": "2026-11-29 12:00:00",
  "communicators_count": 1,
  "communicators": [
    {
      "hash": "0x7d92eee2cc5ff5f5",
      "secondary_hash": "0x1a:0x2b",
      "size": 3,
      "ranks_count": 2,
      "missing_ranks_count": 1,
      "ranks": [
        {
          "rank": 0,
          "host": "10.0.0.1",
          "pid": 1,
          "cuda_dev": 0,
          "nvml_dev": 4,
          "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": false,
            "destroy_flag": false,
            "abort_flag": false
          },
          "collective_counts": {
            "Broadcast": 1,
            "Reduce": 0,
            "AllGather": 0,
            "ReduceScatter": 0,
            "AllReduce": 10
          }
        },
        {
          "rank": 1,
          "host": "10.0.0.2",
          "pid": 1,
          "cuda_dev": 1,
          "nvml_dev": 1,
          "status": {
            "init_state": 0,
            "async_error": 6,
            "finalize_called": false,
            "destroy_flag": false,
            "abort_flag": true
          },
          "collective_counts": {
            "Broadcast": 1,
            "Reduce": 0,
            "AllGather": 0,
            "ReduceScatter": 0,
            "AllReduce": 9
          }
        }
      ],
      "missing_ranks": [
        {
          "rank": 2,
          "host": "10.0.0.3",
          "pid": 77,
          "cuda_dev": 2,
          "nvml_dev": 2,
          "status": {
            "unresponsive": true,
            "considered_dead": true
          }
        }
      ]
    }
  ],
  "ras": {
    "collection_time_sec": 0.012,
    "timeouts_count": 0
  }
}
)";

std::string attributeOf(const Trace& t, uint64_t communicator, std::string_view key) {
  for (size_t i = 0; i < t.attribute.size(); ++i) {
    if (t.attribute.table[i] == static_cast<uint32_t>(TableId::kCommunicator) &&
        t.attribute.row_number[i] == communicator && t.text(t.attribute.key[i]) == key) {
      return std::string(t.text(t.attribute.value[i]));
    }
  }
  return "(none)";
}

TEST(NcclRasJsonImporter, EachRankHasItsLastCalls) {
  const ImportedText got = importText(kRasJson);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "NCCL RAS JSON");
  EXPECT_THAT(got.counts.damage, IsEmpty());
  EXPECT_EQ(got.counts.events, 3U);
  const Trace& t = got.trace;
  ASSERT_EQ(t.communicator.size(), 3U);
  EXPECT_THAT(std::vector<int64_t>(t.communicator.rank.begin(), t.communicator.rank.end()),
              ElementsAre(0, 1, 2));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(t.communicator.key[i], 0x7d92eee2cc5ff5f5U);
    EXPECT_EQ(t.communicator.ranks[i], 3U);
  }
  ASSERT_EQ(t.process.size(), 3U);  // two of them have the same number, on two hosts
  EXPECT_EQ(t.process.pid[0], 1U);
  EXPECT_EQ(t.process.pid[1], 1U);
  EXPECT_EQ(t.process.pid[2], 77U);
  EXPECT_EQ(t.text(t.process.command_line[1]), "on 10.0.0.2");
  ASSERT_EQ(t.comm.size(), 4U);
  EXPECT_EQ(t.text(t.comm.function[0]), "ncclBroadcast");
  EXPECT_EQ(t.comm.sequence[0], 1U);
  EXPECT_EQ(t.comm.state[0], CommState::kUnknown);  // both have called it
  EXPECT_EQ(t.text(t.comm.function[1]), "ncclAllReduce");
  EXPECT_EQ(t.comm.sequence[1], 10U);
  EXPECT_EQ(t.comm.state[1], CommState::kScheduled);  // the other rank has not called it
  EXPECT_EQ(t.comm.sequence[3], 9U);
  EXPECT_EQ(t.comm.state[3], CommState::kUnknown);
  EXPECT_EQ(t.comm.start_ns[3], 0);
  EXPECT_EQ(attributeOf(t, 0, "nvml_dev"), "4");
  EXPECT_EQ(attributeOf(t, 1, "status.async_error"), "6");
  EXPECT_EQ(attributeOf(t, 1, "status.abort_flag"), "true");
  EXPECT_EQ(attributeOf(t, 1, "secondary_hash"), "0x1a:0x2b");
  EXPECT_EQ(attributeOf(t, 2, "status.considered_dead"), "true");
  EXPECT_EQ(attributeOf(t, 2, "answered"), "false");
  EXPECT_EQ(attributeOf(t, 0, "answered"), "(none)");
  EXPECT_EQ(t.metadataValue("source.timestamp"), "\"2026-11-29 12:00:00\"");
  EXPECT_THAT(std::string(t.metadataValue("source.ras")), HasSubstr("0.012"));
  EXPECT_THAT(got.counts.notes,
              ElementsAre("communicator 0x7d92eee2cc5ff5f5: rank 2 gave no data",
                          "communicator 0x7d92eee2cc5ff5f5: rank 1 launched 9 calls of "
                          "ncclAllReduce, others up to 10"));
}

TEST(NcclRasJsonImporter, CutDocumentsHaveTheRanksBefore) {
  const size_t second = kRasJson.find("\"rank\": 1");
  const ImportedText got = importText(kRasJson.substr(0, second + 30));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.counts.events, 1U);
  EXPECT_EQ(got.trace.communicator.ranks[0], 3U);
  EXPECT_EQ(got.counts.damage.size(), 1U);
}

TEST(NcclRasJsonImporter, WhatIsClaimedTakesNoMemory) {
  std::string text(kRasJson);
  text.replace(text.find("\"size\": 3"), 9, "\"size\": 1000000000000");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.communicator.ranks[0], UINT32_MAX);
  EXPECT_EQ(got.trace.communicator.size(), 3U);
}

TEST(NcclRasJsonImporter, DamagedDocuments) {
  importDamaged(kRasJson, test::Cut::kShows, 300, 300);
}

/// As `ncclras -v` prints it.
constexpr std::string_view kRasText = R"(NCCL version 2.28.3 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13010

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  INCOMPLETE,ERROR,MISMATCH
    1         4         1         2         2         8   RUNNING  OK

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 4711 on node 10.0.0.2 managing GPU 3

#0-0 (7d92eee2cc5ff5f5) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 7 -- GPU 3 managed by process 4711 on node 10.0.0.2

#0-0 (7d92eee2cc5ff5f5) ERROR
  Asynchronous error on 1 rank
  Rank 6 reported Remote process error -- GPU 2 managed by process 4710 on node 10.0.0.2

Warnings
========

#0-0 (7d92eee2cc5ff5f5) MISMATCH
  Communicator ranks have different status
  6 ranks have status RUNNING
  Rank 6 has status ABORT -- GPU 2 managed by process 4710 on node 10.0.0.2
  Communicator ranks have different AllReduce operation counts
  5 ranks have launched up to operation 10
  Rank 2 has launched up to operation 9 -- GPU 2 (NVML 6) managed by process 99 on node 10.0.0.1
  Rank 3 has not launched any operations -- [process information not found]

  Communicator ranks have different ReduceScatter operation counts
  2 ranks have launched up to operation 4
  Rank 0 -- GPU 0 managed by process 97 on node 10.0.0.1
  Rank 1 -- GPU 1 managed by process 98 on node 10.0.0.1

)";

size_t rowOfRank(const Trace& t, int64_t rank) {
  const auto& ranks = t.communicator.rank;
  return static_cast<size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

std::vector<std::string> callsOfRank(const Trace& t, int64_t rank) {
  std::vector<std::string> calls;
  for (size_t i = 0; i < t.comm.size(); ++i) {
    if (t.comm.communicator_id[i] != t.communicator.id[rowOfRank(t, rank)]) continue;
    calls.push_back(std::string(t.text(t.comm.function[i])) + " #" +
                    std::to_string(t.comm.sequence[i]) +
                    (t.comm.state[i] == CommState::kScheduled ? ", scheduled" : ""));
  }
  return calls;
}

TEST(NcclRasTextImporter, AMillionRanksThatAreClaimedAreNotMade) {
  std::string text(kRasText);
  const std::string claim = "    0         1         2         4         8         8 ";
  text.replace(text.find(claim), claim.size(), "    0  1  2  4  1000008  1000008 ");
  const std::string counted = "5 ranks have";
  text.replace(text.find(counted), counted.size(), "1000005 ranks have");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.communicator.size(), 6U);
}

TEST(NcclRasTextImporter, RanksThatDifferAreNamed) {
  const ImportedText got = importText(kRasText);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "NCCL RAS text");
  EXPECT_THAT(got.counts.damage, IsEmpty());
  const Trace& t = got.trace;
  EXPECT_EQ(t.metadataValue("source.text"), kRasText);
  ASSERT_EQ(t.communicator.size(), 8U);  // each once
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(t.communicator.key[i], 0x7d92eee2cc5ff5f5U);
    EXPECT_EQ(t.communicator.ranks[i], 8U);
    EXPECT_EQ(t.communicator.nodes[i], 2U);
  }
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 7), "answered"), "false");
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 6), "asynchronous_error"), "Remote process error");
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 6), "status"), "ABORT");
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 2), "gpu"), "2 (NVML 6)");
  const ProcessId behind = t.communicator.process_id[rowOfRank(t, 2)];
  EXPECT_EQ(t.process.pid[indexOf(behind)], 99U);
  EXPECT_EQ(t.text(t.process.command_line[indexOf(behind)]), "on 10.0.0.1");
  EXPECT_EQ(t.communicator.process_id[rowOfRank(t, 3)], ProcessId::kNone);
  const std::string all_reduce_9 = "ncclAllReduce #9, scheduled";  // rank 3 has not called it
  const std::string all_reduce_10 = "ncclAllReduce #10, scheduled";
  const std::string reduce_scatter = "ncclReduceScatter #4";
  EXPECT_THAT(callsOfRank(t, 2), ElementsAre(all_reduce_9));
  EXPECT_THAT(callsOfRank(t, 3), IsEmpty());
  EXPECT_THAT(callsOfRank(t, 0), UnorderedElementsAre(all_reduce_10, reduce_scatter));
  EXPECT_THAT(callsOfRank(t, 1), UnorderedElementsAre(all_reduce_10, reduce_scatter));
  for (const int64_t unnamed : {4, 5, 6}) {
    EXPECT_THAT(callsOfRank(t, unnamed), ElementsAre(all_reduce_10)) << unnamed;
  }
  EXPECT_THAT(callsOfRank(t, 7), IsEmpty());  // it gave no data
  EXPECT_THAT(got.counts.notes, Contains("process 4711 on 10.0.0.2: considered dead"));
  EXPECT_THAT(got.counts.notes, Contains(HasSubstr("rank 7 gave no data")));
  EXPECT_THAT(got.counts.notes,
              Contains(HasSubstr("rank 3 launched 0 calls of ncclAllReduce, others up to 10")));
}

TEST(NcclRasTextImporter, OlderVersionsListRanksAndCountCollectivesTogether) {
  std::string text(kRasText.substr(0, kRasText.find("DEAD")));
  text +=
      "#0-0 (7d92eee2cc5ff5f5) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
      "  The missing ranks: 6,7\n\n"
      "Warnings\n========\n\n"
      "#0-0 (7d92eee2cc5ff5f5) MISMATCH\n  Communicator ranks have different status\n"
      "  4 ranks have status RUNNING\n  2 ranks have status NOCOMM\n  The unknown ranks: 4,5\n"
      "  Communicator ranks have different collective operation counts\n"
      "  3 ranks have launched up to operation 10\n"
      "  Rank 2 has launched up to operation 11 -- GPU 2 managed by process 9 on node 10.0.0.1\n\n";
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  ASSERT_EQ(t.communicator.size(), 5U);
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 7), "answered"), "false");
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 4), "status"), "NOCOMM");
  EXPECT_EQ(attributeOf(t, rowOfRank(t, 4), "answered"), "(none)");
  ASSERT_EQ(t.comm.size(), 1U);
  EXPECT_EQ(t.text(t.comm.function[0]), "collective");
  EXPECT_EQ(t.comm.kind[0], CommKind::kCollective);
  EXPECT_EQ(t.comm.sequence[0], 11U);
  EXPECT_EQ(t.comm.state[0], CommState::kScheduled);  // three others have launched 10
}

TEST(NcclRasTextImporter, AHealthyJobHasNoRanksToName) {
  std::string text(kRasText.substr(0, kRasText.find("DEAD")));
  text += "Warnings\r\n========\r\n\r\n";
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_THAT(got.counts.notes, IsEmpty());
  EXPECT_THAT(got.counts.damage, IsEmpty());
  EXPECT_TRUE(got.trace.communicator.empty());
}

TEST(NcclRasTextImporter, ACutIsSaid) {
  const ImportedText got = importText(kRasText.substr(0, kRasText.find("Warnings")));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.counts.damage.size(), 1U);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("Warnings"));
}

TEST(NcclRasTextImporter, DamagedTexts) { importDamaged(kRasText, test::Cut::kHides, 300, 300); }

}  // namespace
}  // namespace tracesmith::import
