// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_traffic.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"

namespace tracesmith {
namespace {

// Of all_to_all: pairs of all communicators together, and ranks of one that are not in the trace.
constexpr uint64_t kMostPairs = 4'000'000, kMostAbsent = 4'096;

class TrafficCounter {
 public:
  TrafficCounter(const Trace& trace, JobCommunicators& communicators)
      : trace_(trace), communicators_(communicators) {}

  CommTraffic count(const std::vector<CommOperation>& operations) {
    for (const CommOperation& operation : operations) {
      if (operation.member == CommOperation::kNone) {
        if (operation.kind == CommKind::kCollective) ++out_.left_out_collectives;
        continue;
      }
      if (operation.kind == CommKind::kCollective) {
        addCollective(operation);
      } else {
        addMessage(operation);
      }
    }
    addAllToAll();
    join();
    return std::move(out_);
  }

 private:
  void add(uint32_t from, uint32_t to, uint64_t messages, uint64_t message_bytes,
           uint64_t collective_bytes) {
    if (from == CommOperation::kNone || to == CommOperation::kNone) return;
    out_.pairs.push_back({from, to, messages, message_bytes, collective_bytes});
    if (out_.pairs.size() > joined_at_ * 2 + 1'000'000) join();
  }

  void addMessage(const CommOperation& operation) {
    const uint32_t who = communicators_.members[operation.member].who;
    if (operation.kind != CommKind::kReceive) {
      add(who, communicators_.whoIs(operation.communicator, operation.peer), 1,
          trace_.comm.send_bytes[operation.row], 0);
      return;
    }
    if (operation.peer == -2) ++out_.of_unknown_senders;
    const uint32_t from = communicators_.whoIs(operation.communicator, operation.peer);
    if (from == CommOperation::kNone) return;
    if (communicators_.ranks()[from].process != ProcessId::kNone) return;  // its rows count
    add(from, who, 1, operation.receive_bytes, 0);
  }

  void addCollective(const CommOperation& operation) {
    const uint32_t who = communicators_.members[operation.member].who;
    const uint32_t root = communicators_.whoIs(operation.communicator, operation.peer);
    const uint64_t sent = trace_.comm.send_bytes[operation.row];
    if (operation.op == CollectiveOp::kAllToAll && sent > 0 &&
        !hasUnequalParts(trace_.text(operation.function))) {
      AllToAll& of_member = all_to_all_[operation.member];
      ++of_member.calls;
      of_member.bytes += sent;
    } else if (operation.op == CollectiveOp::kGather && root != CommOperation::kNone) {
      if (root != who) add(who, root, 0, 0, sent);
    } else if (operation.op == CollectiveOp::kScatter && root != CommOperation::kNone) {
      if (root != who) add(root, who, 0, 0, operation.receive_bytes);
    } else if (operation.op != CollectiveOp::kBarrier) {
      ++out_.left_out_collectives;
    }
  }

  void addAllToAll() {
    uint64_t pairs = 0;
    for (const auto& [member, sent] : all_to_all_) {
      const CommMember& from = communicators_.members[member];
      const JobCommunicator& communicator = communicators_.all[from.communicator];
      const uint64_t ranks = communicator.ranks;
      if (ranks < 2) continue;
      if (ranks > kMostAbsent + communicator.members || pairs + ranks > kMostPairs) {
        out_.too_many_pairs += sent.calls;
        continue;
      }
      pairs += ranks;
      for (uint64_t rank = 0; rank < ranks; ++rank) {
        const uint32_t to = communicators_.whoIs(from.communicator, static_cast<int64_t>(rank));
        if (to != from.who) add(from.who, to, 0, 0, sent.bytes / ranks);
      }
    }
  }

  void join() {
    std::vector<PairTraffic>& pairs = out_.pairs;
    std::sort(pairs.begin(), pairs.end(), [](const PairTraffic& a, const PairTraffic& b) {
      return std::tuple(a.from, a.to) < std::tuple(b.from, b.to);
    });
    size_t kept = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (kept > 0 && pairs[kept - 1].from == pairs[i].from && pairs[kept - 1].to == pairs[i].to) {
        pairs[kept - 1].messages += pairs[i].messages;
        pairs[kept - 1].message_bytes += pairs[i].message_bytes;
        pairs[kept - 1].collective_bytes += pairs[i].collective_bytes;
      } else {
        pairs[kept++] = pairs[i];
      }
    }
    pairs.resize(kept);
    joined_at_ = kept;
  }

  struct AllToAll {
    uint64_t calls = 0;
    uint64_t bytes = 0;
  };

  const Trace& trace_;
  JobCommunicators& communicators_;
  CommTraffic out_;
  size_t joined_at_ = 0;
  std::map<uint32_t, AllToAll> all_to_all_;  // by member
};

}  // namespace

CommTraffic commTraffic(const Trace& trace, const std::vector<CommOperation>& operations,
                        JobCommunicators& communicators) {
  return TrafficCounter(trace, communicators).count(operations);
}

}  // namespace tracesmith
