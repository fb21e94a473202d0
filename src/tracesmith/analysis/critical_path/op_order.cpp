// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/op_order.hpp"

#include <future>
#include <numeric>
#include <system_error>

#include "tracesmith/base/huge_pages.hpp"
#include "tracesmith/base/natural_sort.hpp"

namespace tracesmith {
namespace {

template <class Key>
std::vector<uint32_t> sortedBy(const DeviceOps& ops, Key key) {
  std::vector<uint32_t> order;
  reserveInLargePages(order, ops.ops.size());
  order.resize(ops.ops.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  naturalSort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return key(ops.ops[a]) < key(ops.ops[b]); });
  return order;
}

}  // namespace

OpOrders OpOrders::of(const DeviceOps& ops) {
  constexpr size_t kMany = 1 << 17;
  const auto sortByEnd = [&] {
    return sortedBy(ops, [](const DeviceOp& op) { return op.end_ns; });
  };
  std::future<std::vector<uint32_t>> by_end = std::async(std::launch::deferred, sortByEnd);
  try {
    if (ops.ops.size() >= kMany) by_end = std::async(std::launch::async, sortByEnd);
  } catch (const std::system_error&) {  // no more threads can be had: one after the other
  }
  OpOrders out;
  out.by_begin = sortedBy(ops, [](const DeviceOp& op) { return op.begin_ns; });
  out.by_end = by_end.get();
  return out;
}

}  // namespace tracesmith
