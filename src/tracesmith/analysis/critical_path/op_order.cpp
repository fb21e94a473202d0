// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/op_order.hpp"

#include <numeric>

#include "tracesmith/base/natural_sort.hpp"

namespace tracesmith {
namespace {

template <class Key>
std::vector<uint32_t> sortedBy(const DeviceOps& ops, Key key) {
  std::vector<uint32_t> order(ops.ops.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  naturalSort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return key(ops.ops[a]) < key(ops.ops[b]); });
  return order;
}

}  // namespace

std::vector<uint32_t> opsByBegin(const DeviceOps& ops) {
  return sortedBy(ops, [](const DeviceOp& op) { return op.begin_ns; });
}

std::vector<uint32_t> opsByEnd(const DeviceOps& ops) {
  return sortedBy(ops, [](const DeviceOp& op) { return op.end_ns; });
}

}  // namespace tracesmith
