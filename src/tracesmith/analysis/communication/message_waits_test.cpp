// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/message_waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;

Messages messagesOf(const CommTrace& made) {
  JobCommunicators job(made.trace);
  return matchMessages(made.trace, commOperations(made.trace, job, made.deviceOps()), job);
}

TEST(MessageWaits, LateSendersAndLateReceivers) {
  CommTrace made(2);
  const auto world = made.world();
  made.message(1, world[1], false, 0, 100, 60, 8, 1);  // waits for the sender
  made.message(0, world[0], true, 1, 150, 5, 8, 1);
  made.message(0, world[0], true, 1, 200, 90, 800, 2);  // waits for the receiver
  made.message(1, world[1], false, 0, 280, 20, 800, 2);
  made.message(0, world[0], true, 1, 400, 5, 8, 3);  // was buffered
  made.message(1, world[1], false, 0, 500, 5, 8, 3);
  const Messages messages = messagesOf(made);
  ASSERT_EQ(messages.pairs.size(), 1u);
  const MessageWaits& pair = messages.pairs[0];
  EXPECT_EQ(pair.messages, 3u);
  EXPECT_EQ(pair.bytes, 816u);
  EXPECT_EQ(pair.late_sends, 1u);
  EXPECT_EQ(pair.waited_for_sender_ns, 50);
  EXPECT_EQ(pair.late_receives, 1u);
  EXPECT_EQ(pair.waited_for_receiver_ns, 80);
  EXPECT_TRUE(messages.mismatches.empty());
}

TEST(MessageWaits, RequestsThatCompleteTogether) {
  CommTrace made(2);
  const auto world = made.world();
  // Rank 0 sends and receives; its one MPI_Waitall lasts until the late message of rank 1 has come.
  CommRow& send = made.call(0, world[0], "MPI_Isend", CommKind::kSend, 100, 2);
  send.peer = send.tag = 1;
  send.send_bytes = 8;
  const uint64_t sent = made.add();
  CommRow& receive = made.call(0, world[0], "MPI_Irecv", CommKind::kReceive, 110, 2);
  receive.peer = receive.tag = 1;
  const uint64_t received = made.add();
  for (const uint64_t request : {sent, received}) {
    CommRow& wait = made.call(0, world[0], "MPI_Waitall", CommKind::kCompletion, 120, 200);
    wait.peer = wait.tag = 1;
    wait.request = request;
    wait.receive_bytes = request == received ? 8 : 0;
    made.add();
  }
  made.message(1, world[1], true, 0, 300, 5, 8, 1);
  made.message(1, world[1], false, 0, 310, 5, 8, 1);
  const Messages messages = messagesOf(made);
  ASSERT_EQ(messages.pairs.size(), 2u);
  EXPECT_EQ(messages.pairs[0].from, 0u);
  EXPECT_EQ(messages.pairs[0].waited_for_receiver_ns, 0) << "the call waited for the message";
  EXPECT_EQ(messages.pairs[1].waited_for_sender_ns, 180);
  EXPECT_TRUE(messages.mismatches.empty());
}

TEST(MessageWaits, MessagesDoNotOvertakeEachOther) {
  CommTrace made(2);
  const auto world = made.world();
  // Of two tags, received in the other order.
  made.message(0, world[0], true, 1, 100, 5, 10, 1);
  made.message(0, world[0], true, 1, 200, 5, 20, 2);
  made.message(0, world[0], true, 1, 300, 5, 30, 1);
  made.message(1, world[1], false, 0, 400, 5, 20, 2);
  made.message(1, world[1], false, 0, 500, 5, 10, 1);
  made.message(1, world[1], false, 0, 600, 5, 30, 1);
  const Messages messages = messagesOf(made);
  EXPECT_EQ(messages.pairs.at(0).messages, 3u);
  EXPECT_TRUE(messages.mismatches.empty()) << "each has the size with which it was sent";
}

TEST(MessageWaits, WhatLacksTheOtherEnd) {
  CommTrace made(2);
  const auto world = made.world();
  made.message(0, world[0], true, 1, 100, 5, 10, 1);
  made.message(0, world[0], true, 1, 200, 5, 10, 1);
  made.message(1, world[1], false, 0, 300, 5, 4, 1);
  made.message(1, world[1], false, 0, 400, 5, 10, 7);
  std::map<CommMismatchKind, std::string> found;
  for (const CommMismatch& each : messagesOf(made).mismatches) found[each.kind] = each.example;
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found[CommMismatchKind::kMessageSize], "rank 0 sent 10 bytes, rank 1 received 4");
  EXPECT_EQ(found[CommMismatchKind::kUnmatchedSend], "from rank 0 to rank 1, tag 1, 10 bytes");
  EXPECT_EQ(found[CommMismatchKind::kUnmatchedReceive], "from rank 0 to rank 1, tag 7, 10 bytes");
}

TEST(MessageWaits, WhatExchangesReceiveIsNotUnmatched) {
  CommTrace made(3);
  const auto world = made.world();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    CommRow& row = made.call(rank, world[rank], "MPI_Sendrecv", CommKind::kExchange, 100, 5);
    row.peer = (rank + 1) % 3;
    row.send_bytes = row.receive_bytes = 8;
    made.add();
  }
  EXPECT_TRUE(messagesOf(made).mismatches.empty());
  // One more than they can have received.
  made.message(0, world[0], true, 1, 300, 5, 8, 1);
  ASSERT_EQ(messagesOf(made).mismatches.size(), 1u);
}

TEST(MessageWaits, PeersThatAreNotInTheTraceLackNothing) {
  CommTrace made(1);
  const CommunicatorId id = made.communicator(0, 7, 0, 4, "0-3");
  made.message(0, id, true, 3, 100, 5, 8);
  made.message(0, id, false, 2, 200, 5, 8);
  const Messages messages = messagesOf(made);
  EXPECT_TRUE(messages.pairs.empty());
  EXPECT_TRUE(messages.mismatches.empty());
}

TEST(MessageWaits, AreToldOnlyAsFarAsTheClocksTell) {
  CommTrace made(2);
  const auto world = made.world();
  made.message(1, world[1], false, 0, 100, 60, 8);
  made.message(0, world[0], true, 1, 150, 5, 8);
  made.merge({0, 50});
  const Messages messages = messagesOf(made);
  EXPECT_EQ(messages.pairs.at(0).not_resolved, 1u);
  EXPECT_EQ(messages.pairs.at(0).waited_for_sender_ns, 0);
}

}  // namespace
}  // namespace tracesmith
