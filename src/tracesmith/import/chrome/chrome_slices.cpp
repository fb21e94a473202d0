// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_slices.hpp"

#include <algorithm>
#include <type_traits>

namespace tracesmith::import {
namespace {

// An end is only matched with this many innermost slices. This bounds the cost of documents whose
// ends match nothing. trace_processor has the same limit for its stacks.
constexpr size_t kDeepest = 512;

int64_t startOf(const OpenSlices::Row& row) {
  return std::visit([](const auto& r) { return r.start_ns; }, row);
}

bool matches(OpenSlices::Label slice, OpenSlices::Label end) {
  return (end.category == StringId::kNone || end.category == slice.category) &&
         (end.name == StringId::kNone || end.name == slice.name);
}

}  // namespace

void OpenSlices::pop(Stack& stack) {
  if (stack.slices.back().end_ns) --stack.ended;
  stack.slices.pop_back();
}

/// Advances the stack to `time_ns`: removes slices that ended before that, and ends the slices that
/// were open inside them.
void OpenSlices::settle(Stack& stack, int64_t time_ns) {
  if (stack.ended == 0) return;
  const size_t depth = stack.slices.size();
  const size_t lowest = depth - std::min(depth, kDeepest);
  for (size_t i = depth; i-- > lowest;) {
    const std::optional<int64_t> end_ns = stack.slices[i].end_ns;
    if (!end_ns) continue;
    const bool innermost = i + 1 == stack.slices.size();
    if (innermost ? *end_ns > time_ns : *end_ns >= time_ns) continue;
    while (stack.slices.size() > i + 1) {
      Slice& inner = stack.slices.back();
      if (!inner.end_ns) {
        std::visit([&](auto& row) { row.duration_ns = lengthOf(row.start_ns, *end_ns); },
                   inner.row);
        cut_.push_back(inner.row);
      }
      pop(stack);
    }
    pop(stack);
  }
}

void OpenSlices::open(ThreadId thread, const Row& row, Label label) {
  Stack& stack = stacks_[thread];
  settle(stack, startOf(row));
  stack.slices.push_back({row, label, std::nullopt});
}

std::optional<OpenSlices::Row> OpenSlices::close(ThreadId thread, Label end, int64_t time_ns) {
  const auto it = stacks_.find(thread);
  if (it == stacks_.end()) return std::nullopt;
  Stack& stack = it->second;
  settle(stack, time_ns);
  const size_t depth = stack.slices.size();
  const size_t lowest = depth - std::min(depth, kDeepest);
  for (size_t i = depth; i-- > lowest;) {
    Slice& slice = stack.slices[i];
    if (slice.end_ns || !matches(slice.label, end)) continue;
    const Row row = slice.row;
    if (i + 1 == depth) {
      pop(stack);
    } else {
      slice.end_ns = time_ns;
      ++stack.ended;
    }
    return row;
  }
  return std::nullopt;
}

OpenSlices::Row takeLastRow(Trace& trace, TableId table) {
  const auto take = [](auto& rows) -> OpenSlices::Row {
    auto row = rows.row(rows.size() - 1);
    rows.resize(rows.size() - 1);
    return row;
  };
  switch (table) {
    case TableId::kKernel:
      return take(trace.kernel);
    case TableId::kCopy:
      return take(trace.copy);
    case TableId::kFill:
      return take(trace.fill);
    case TableId::kSync:
      return take(trace.sync);
    case TableId::kHostCall:
      return take(trace.host_call);
    default:
      return take(trace.range);
  }
}

TableId pushRow(Trace& trace, const OpenSlices::Row& row) {
  return std::visit(
      [&](const auto& r) {
        TableId id{};
        forEachTable(trace, [&](auto& table) {
          using Table = std::decay_t<decltype(table)>;
          if constexpr (std::is_same_v<typename Table::Row, std::decay_t<decltype(r)>>) {
            table.push(r);
            id = Table::kId;
          }
        });
        return id;
      },
      row);
}

}  // namespace tracesmith::import
