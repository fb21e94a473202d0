// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/message_waits.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/communication/comm_clocks.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

/// A send or a receive.
struct MessageEnd {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t communicator = 0;
  int32_t tag = 0;
  int64_t start_ns = 0;  // of the call
  uint32_t operation = 0;

  auto key() const { return std::tuple(from, to, communicator, tag); }
};

void sortEnds(std::vector<MessageEnd>& ends) {
  std::sort(ends.begin(), ends.end(), [](const MessageEnd& a, const MessageEnd& b) {
    return std::tuple(a.key(), a.start_ns, a.operation) <
           std::tuple(b.key(), b.start_ns, b.operation);
  });
}

class MessageMatcher {
 public:
  MessageMatcher(const Trace& trace, const std::vector<CommOperation>& operations,
                 JobCommunicators& communicators)
      : trace_(trace), operations_(operations), communicators_(communicators), clocks_(trace) {}

  Messages match() {
    for (uint32_t i = 0; i < operations_.size(); ++i) addEnds(i);
    sortEnds(sends_);
    sortEnds(receives_);
    size_t send = 0, receive = 0;
    while (send < sends_.size() || receive < receives_.size()) {
      const bool has_send = send < sends_.size(), has_receive = receive < receives_.size();
      if (has_send && has_receive && sends_[send].key() == receives_[receive].key()) {
        addMatch(sends_[send++], receives_[receive++]);
      } else if (has_send && (!has_receive || sends_[send].key() < receives_[receive].key())) {
        addUnmatchedSend(sends_[send++]);
      } else {
        addUnmatched(CommMismatchKind::kUnmatchedReceive, receives_[receive++]);
      }
    }
    for (auto& [key, mismatch] : mismatches_) out_.mismatches.push_back(std::move(mismatch));
    return std::move(out_);
  }

 private:
  void addEnds(uint32_t index) {
    const CommOperation& operation = operations_[index];
    if (!operation.isMessage()) return;
    const bool receives_from_anybody =
        operation.kind == CommKind::kExchange || operation.communicator == CommOperation::kNone;
    if (receives_from_anybody && operation.kind != CommKind::kSend) {
      ++open_receives_[trace_.comm.process_id[operation.row]];
    }
    if (operation.communicator == CommOperation::kNone || operation.peer < 0) return;
    const uint32_t who = communicators_.members[operation.member].who;
    const uint32_t peer = communicators_.whoIs(operation.communicator, operation.peer);
    // Both groups of a communicator between groups have its messages.
    const uint32_t other = communicators_.all[operation.communicator].other;
    MessageEnd end{who,
                   peer,
                   std::min(operation.communicator, other),
                   operation.tag,
                   trace_.comm.start_ns[operation.row],
                   index};
    if (operation.kind == CommKind::kReceive) {
      std::swap(end.from, end.to);
      receives_.push_back(end);
    } else {
      sends_.push_back(end);
    }
  }

  bool isInTrace(uint32_t who) const {
    return communicators_.ranks()[who].process != ProcessId::kNone;
  }

  MessageWaits& pairOf(const MessageEnd& end) {
    if (out_.pairs.empty() || out_.pairs.back().from != end.from ||
        out_.pairs.back().to != end.to) {
      out_.pairs.push_back({.from = end.from, .to = end.to});
    }
    return out_.pairs.back();
  }

  /// The time in which the thread or the stream could do nothing else.
  Interval waitingOf(const CommOperation& operation) const {
    if (operation.timing == CommTiming::kEnqueuing) return {};
    if (operation.timing != CommTiming::kRequest) return {operation.begin_ns, operation.end_ns};
    const int64_t start = trace_.comm.start_ns[operation.completion];
    return {start, endOf(start, trace_.comm.duration_ns[operation.completion])};
  }

  void addMatch(const MessageEnd& send, const MessageEnd& receive) {
    const CommOperation &sent = operations_[send.operation],
                        &received = operations_[receive.operation];
    const uint64_t bytes = trace_.comm.send_bytes[sent.row];
    MessageWaits& pair = pairOf(send);
    ++pair.messages;
    pair.bytes += bytes;
    if (bytes != received.receive_bytes && received.timing != CommTiming::kEnqueuing) {
      addMismatch(CommMismatchKind::kMessageSize, receive, [&] {
        return "rank " + labelOf(send.from) + " sent " + formatCount(bytes) + " bytes, rank " +
               labelOf(send.to) + " received " + formatCount(received.receive_bytes);
      });
    }
    if (!clocks_.areComparable() || !isLater(sent.begin_ns, received.begin_ns, send, receive)) {
      ++pair.not_resolved;
      return;
    }
    const Interval of_receiver = waitingOf(received), of_sender = waitingOf(sent);
    const int64_t for_sender =
        lengthOf(of_receiver.begin_ns, std::min(of_receiver.end_ns, sent.begin_ns));
    if (for_sender > 0) {
      ++pair.late_sends;
      pair.waited_for_sender_ns = endOf(pair.waited_for_sender_ns, for_sender);
    }
    const bool was_buffered = of_sender.end_ns < received.begin_ns;
    // What completes a request may have waited for others as well.
    if (was_buffered || sent.kind == CommKind::kExchange || sent.timing == CommTiming::kRequest) {
      return;
    }
    const int64_t for_receiver = lengthOf(of_sender.begin_ns, received.begin_ns);
    if (for_receiver > 0) {
      ++pair.late_receives;
      pair.waited_for_receiver_ns = endOf(pair.waited_for_receiver_ns, for_receiver);
    }
  }

  /// Whether the clocks tell which of two times is the later one.
  bool isLater(int64_t a, int64_t b, const MessageEnd& send, const MessageEnd& receive) const {
    const uint64_t of_devices =
        uint64_t{operations_[send.operation].error_ns} + operations_[receive.operation].error_ns;
    const uint64_t of_hosts = clocks_.apart(communicators_.ranks()[send.from].rank_id,
                                            communicators_.ranks()[send.to].rank_id);
    const auto between = static_cast<uint64_t>(std::max(lengthOf(a, b), lengthOf(b, a)));
    uint64_t apart = 0;
    return !__builtin_add_overflow(of_devices, of_hosts, &apart) && between > apart;
  }

  void addUnmatchedSend(const MessageEnd& send) {
    if (!isInTrace(send.to)) return;
    const auto open = open_receives_.find(communicators_.ranks()[send.to].process);
    if (open != open_receives_.end() && open->second > 0) {
      --open->second;
      return;
    }
    addUnmatched(CommMismatchKind::kUnmatchedSend, send);
  }

  void addUnmatched(CommMismatchKind kind, const MessageEnd& end) {
    if (!isInTrace(end.from) || !isInTrace(end.to)) return;
    addMismatch(kind, end, [&] {
      return "from rank " + labelOf(end.from) + " to rank " + labelOf(end.to) +
             (end.tag < 0 ? "" : ", tag " + std::to_string(end.tag)) + ", " +
             formatCount(operations_[end.operation].bytes) + " bytes";
    });
  }

  template <class Example>
  void addMismatch(CommMismatchKind kind, const MessageEnd& end, Example example) {
    const CommOperation& operation = operations_[end.operation];
    const auto [known, is_new] =
        mismatches_.try_emplace({operation.communicator, operation.function, kind});
    CommMismatch& mismatch = known->second;
    if (is_new) mismatch = {kind, operation.communicator, operation.function, 0, 0, example()};
    ++mismatch.count;
  }

  const std::string& labelOf(uint32_t who) const { return communicators_.ranks()[who].label; }

  const Trace& trace_;
  const std::vector<CommOperation>& operations_;
  JobCommunicators& communicators_;
  const CommClocks clocks_;
  std::vector<MessageEnd> sends_, receives_;
  std::map<ProcessId, uint64_t> open_receives_;  // that do not say whom they are from
  std::map<std::tuple<uint32_t, StringId, CommMismatchKind>, CommMismatch> mismatches_;
  Messages out_;
};

}  // namespace

Messages matchMessages(const Trace& trace, const std::vector<CommOperation>& operations,
                       JobCommunicators& communicators) {
  return MessageMatcher(trace, operations, communicators).match();
}

}  // namespace tracesmith
