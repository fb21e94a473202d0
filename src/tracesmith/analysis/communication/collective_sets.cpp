// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/collective_sets.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "tracesmith/model/names/nccl_names.hpp"

namespace tracesmith {
namespace {

auto setOf(const CollectiveCall& call) {
  return std::tuple(call.communicator, call.function, call.uses_copy_engines, call.sequence,
                    call.occurrence);
}

/// Where a source numbers the calls of a function, those without a number are none of its sequence:
/// NCCL reports no more of kernels that use symmetric memory than that they were called.
uint64_t leaveOutUnnumbered(std::vector<CollectiveCall>& calls) {
  std::set<std::pair<uint32_t, StringId>> numbered;
  for (const CollectiveCall& call : calls) {
    if (call.sequence != 0) numbered.emplace(call.communicator, call.function);
  }
  return std::erase_if(calls, [&](const CollectiveCall& call) {
    return call.sequence == 0 && numbered.contains({call.communicator, call.function});
  });
}

void countOccurrences(const Trace& trace, const std::vector<CommOperation>& operations,
                      std::vector<CollectiveCall>& calls) {
  const auto number_of = [](const CollectiveCall& call) {
    return std::tuple(call.communicator, call.function, call.uses_copy_engines, call.member,
                      call.sequence);
  };
  const auto time_of = [&](const CollectiveCall& call) {
    return std::tuple(trace.comm.start_ns[operations[call.operation].row], call.operation);
  };
  std::sort(calls.begin(), calls.end(), [&](const CollectiveCall& a, const CollectiveCall& b) {
    return std::tuple(number_of(a), time_of(a)) < std::tuple(number_of(b), time_of(b));
  });
  for (size_t i = 1; i < calls.size(); ++i) {
    if (number_of(calls[i]) == number_of(calls[i - 1])) {
      calls[i].occurrence = calls[i - 1].occurrence + 1;
    }
  }
}

}  // namespace

CollectiveSets collectiveSets(const Trace& trace, const std::vector<CommOperation>& operations,
                              const JobCommunicators& communicators) {
  CollectiveSets out;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const CommOperation& operation = operations[i];
    if (operation.kind != CommKind::kCollective || operation.member == CommOperation::kNone ||
        communicators.all[operation.communicator].members < 2) {
      continue;
    }
    out.calls.push_back(
        {.communicator = operation.communicator,
         .function = operation.function,
         .uses_copy_engines = trace.text(trace.comm.algorithm[operation.row]) == kCopyEngines,
         .sequence = trace.comm.sequence[operation.row],
         .member = operation.member,
         .operation = i});
  }
  out.unnumbered = leaveOutUnnumbered(out.calls);
  countOccurrences(trace, operations, out.calls);
  std::sort(out.calls.begin(), out.calls.end(),
            [](const CollectiveCall& a, const CollectiveCall& b) {
              return std::tuple(setOf(a), a.member) < std::tuple(setOf(b), b.member);
            });
  for (uint32_t i = 0; i < out.calls.size(); ++i) {
    if (i == 0 || setOf(out.calls[i]) != setOf(out.calls[i - 1])) out.sets.push_back({i, 0});
    ++out.sets.back().count;
  }
  return out;
}

}  // namespace tracesmith
