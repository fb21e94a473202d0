// SPDX-License-Identifier: Apache-2.0
// Records of MPI that no program makes: cut ones, requests that several threads use, a collector
// that takes over. tests/mpi/mpi_test.py has real programs.
#include "tracesmith/capture/join/recorded_mpi.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/mpi_api.hpp"

namespace tracesmith {
namespace {

constexpr ProcessId kMpiProcess{3};

template <class... Parts>
Bytes bytesOf(const Parts&... parts) {
  Bytes bytes;
  const auto add = [&bytes](const auto& part) {
    const auto* p = reinterpret_cast<const uint8_t*>(&part);
    bytes.insert(bytes.end(), p, p + sizeof part);
  };
  (add(parts), ...);
  return bytes;
}

class RecordedMpiTest : public ::testing::Test {
 protected:
  static arena::CallRecord call(MpiApi api, int64_t start, int64_t end, uint64_t correlation,
                                uint8_t flags = 0, int32_t result = 0) {
    return {{arena::RecordKind::kMpiCall, flags, 0, static_cast<uint32_t>(api)},
            start,
            end,
            correlation,
            1,
            result,
            0};
  }
  static arena::MpiCallPart part(uint64_t request = 0, uint32_t done = 0) {
    return {.send_bytes = 0,
            .receive_bytes = 64,
            .sequence = 0,
            .request = request,
            .peer = -2,
            .tag = -2,
            .done_count = done,
            .reserved = 0};
  }
  static arena::MpiDone done(uint64_t request, uint64_t bytes, int source, int tag) {
    return {request, bytes, source, tag, 1, 0};
  }
  static Bytes communicator(uint32_t number, const std::string& name,
                            const std::vector<arena::MpiRun>& runs) {
    Bytes bytes =
        bytesOf(arena::MpiCommunicatorRecord{{arena::RecordKind::kMpiCommunicator, 0, 0, number},
                                             5,
                                             99,
                                             4,
                                             2,
                                             static_cast<uint32_t>(runs.size()),
                                             static_cast<uint32_t>(name.size())});
    for (const arena::MpiRun& run : runs) {
      const Bytes more = bytesOf(run);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    bytes.insert(bytes.end(), name.begin(), name.end());
    return bytes;
  }
  void give(const Bytes& record) {
    EXPECT_TRUE(mpi_.define(record));
    EXPECT_TRUE(mpi_.join(record, ThreadId{7}));
  }
  CommRow last() const { return shared_.delta.comm.row(shared_.delta.comm.size() - 1); }

  SharedRows shared_;
  SharedStacks shared_stacks_;
  RecordedStacks stacks_{shared_stacks_, shared_.delta, kMpiProcess};
  RecordedMpi mpi_{shared_, stacks_, kMpiProcess, [](int64_t stamp) { return stamp; }};
};

TEST_F(RecordedMpiTest, CommunicatorsAndTheirNames) {
  give(communicator(1, "MPI_COMM_WORLD", {{0, 4}, {7, 1}}));
  give(communicator(1, "MPI_COMM_WORLD", {{0, 4}, {7, 1}}));  // read again
  ASSERT_EQ(shared_.delta.communicator.size(), 1u);
  const CommunicatorRow row = shared_.delta.communicator.row(0);
  EXPECT_EQ(shared_.delta.text(row.members), "0-3,7");
  EXPECT_EQ(shared_.delta.text(row.name), "MPI_COMM_WORLD");
  EXPECT_EQ(row.key, 99u);
  EXPECT_EQ(row.rank, 2);
  give(communicator(1, "renamed", {}));
  ASSERT_EQ(shared_.delta.communicator.size(), 2u);
  EXPECT_EQ(shared_.delta.communicator.id[1], row.id) << "a later row replaces the earlier one";
  EXPECT_EQ(shared_.delta.communicator.members[1], row.members);
}

TEST_F(RecordedMpiTest, ACompletionLeadsToTheCallThatStarted) {
  give(communicator(1, "MPI_COMM_WORLD", {{0, 4}}));
  give(bytesOf(call(MpiApi::kIrecv, 10, 12, 501, arena::kMpiRequest), part(0xabc)));
  EXPECT_EQ(last().receive_bytes, 0u) << "nothing has come yet";
  EXPECT_EQ(last().peer, -2) << "any";
  give(bytesOf(call(MpiApi::kWait, 20, 30, 502), part(0, 1), done(0xabc, 40, 3, 8)));
  EXPECT_EQ(last().request, 501u);
  EXPECT_EQ(last().receive_bytes, 40u);
  EXPECT_EQ(last().peer, 3);
  EXPECT_EQ(last().tag, 8);
  EXPECT_EQ(last().communicator_id, CommunicatorId{1});
  // The handle comes again, for another call.
  give(bytesOf(call(MpiApi::kIrecv, 40, 42, 503, arena::kMpiRequest), part(0xabc)));
  give(bytesOf(call(MpiApi::kWait, 50, 60, 504), part(0, 1), done(0xabc, 8, 1, 8)));
  EXPECT_EQ(last().request, 503u);
  // One that was never seen, as after another collector has taken over.
  give(bytesOf(call(MpiApi::kWait, 70, 80, 505), part(0, 1), done(0xdef, 8, 1, 8)));
  EXPECT_EQ(last().request, 0u);
  EXPECT_EQ(shared_.delta.host_call.size(), 5u);
}

TEST_F(RecordedMpiTest, RecordsThatContinueAreOneCall) {
  give(bytesOf(call(MpiApi::kWaitall, 10, 20, 7), part(0, 1), done(1, 8, 1, 8)));
  give(bytesOf(call(MpiApi::kWaitall, 10, 20, 7, arena::kMpiMore), part(0, 1), done(2, 8, 1, 8)));
  EXPECT_EQ(shared_.delta.host_call.size(), 1u);
  EXPECT_EQ(shared_.delta.comm.size(), 2u);
}

TEST_F(RecordedMpiTest, AnotherCollectorsCommunicators) {
  mpi_.restoreCommunicator({.id = CommunicatorId{5}, .process_id = kMpiProcess, .ordinal = 1});
  give(bytesOf(call(MpiApi::kBarrier, 10, 20, 7), part()));
  EXPECT_EQ(last().communicator_id, CommunicatorId{5});
}

TEST_F(RecordedMpiTest, DamagedRecordsAreRefused) {
  const Bytes whole = bytesOf(call(MpiApi::kWait, 20, 30, 502), part(0, 1), done(0xabc, 40, 3, 8));
  for (size_t bytes = sizeof(arena::RecordHeader); bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(mpi_.join(ByteView(whole).subspan(0, bytes), ThreadId{7})) << bytes;
  }
  EXPECT_FALSE(mpi_.join(bytesOf(call(MpiApi::kCount, 1, 2, 3), part()), ThreadId{7}));
  EXPECT_FALSE(mpi_.join(bytesOf(call(MpiApi::kWait, 1, 2, 3), part(0, 1'000)), ThreadId{7}));
  const Bytes named = communicator(1, "MPI_COMM_WORLD", {{0, 4}});
  for (size_t bytes = sizeof(arena::RecordHeader); bytes < named.size(); ++bytes) {
    EXPECT_FALSE(mpi_.define(ByteView(named).subspan(0, bytes))) << bytes;
  }
}

}  // namespace
}  // namespace tracesmith
