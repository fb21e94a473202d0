// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/operators/operator_tree.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tracesmith/analysis/operators/operator_costs.hpp"

namespace tracesmith {
namespace {

struct RangeOptions {
  uint32_t thread = 1;
  uint64_t sequence = 0;  ///< counted from 1
  uint32_t forward_thread = 0;
  const char* category = "cpu_op";
};

/// A trace with host ranges, and kernels launched at given times.
class Program {
 public:
  Program() {
    trace.device.push({.id = idAt<DeviceId>(0)});
    trace.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0)});
  }
  void range(std::string_view name, int64_t begin, int64_t end, const RangeOptions& options = {}) {
    trace.range.push({.start_ns = begin,
                      .duration_ns = end - begin,
                      .name = trace.strings.intern(name),
                      .category = trace.strings.intern(options.category),
                      .thread_id = ThreadId{options.thread},
                      .sequence_number = options.sequence,
                      .forward_thread = options.forward_thread});
  }
  /// A kernel of `duration`, launched at `launch`; below 0: its launch is not in the trace.
  void kernel(int64_t duration, int64_t launch, uint32_t thread = 1) {
    const uint64_t id = ++next_;
    if (launch >= 0) {
      trace.host_call.push({.start_ns = launch,
                            .duration_ns = 1,
                            .name = trace.strings.intern("cudaLaunchKernel"),
                            .thread_id = ThreadId{thread},
                            .correlation_id = id,
                            .kind = CallKind::kLaunch});
    }
    trace.kernel.push({.start_ns = device_ns_,
                       .duration_ns = duration,
                       .name = trace.strings.intern("k"),
                       .stream_id = idAt<StreamId>(0),
                       .correlation_id = id});
    device_ns_ += duration;
  }
  OperatorTree tree(OperatorRanges which) const {
    return OperatorTree::of(trace, DeviceOps::of(trace), which);
  }
  /// Device time by path, its names with "/" in front.
  std::map<std::string, int64_t> stacks() const {
    const OperatorTree of = tree(OperatorRanges::kStacks);
    std::map<std::string, int64_t> found;
    for (uint32_t i = 0; i < of.nodes.size(); ++i) {
      std::string text;
      for (const std::string_view name : of.path(i)) text += "/" + std::string(name);
      if (of.nodes[i].launches > 0) found[text] = of.nodes[i].device_self_ns;
    }
    return found;
  }
  std::map<std::string, OperatorCost> costs(OperatorRanges which) const {
    const OperatorTree of = tree(which);
    const std::vector<OperatorCost> costs = operatorCosts(of);
    std::map<std::string, OperatorCost> found;
    for (size_t i = 0; i < costs.size(); ++i) found[of.names[i]] = costs[i];
    return found;
  }
  Trace trace;

 private:
  uint64_t next_ = 0;
  int64_t device_ns_ = 10'000;
};

using Times = std::map<std::string, int64_t>;

TEST(OperatorTree, WorkBelongsToTheInnermostRangeAroundItsLaunch) {
  Program p;
  p.range("inner", 10, 20);
  p.range("outer", 10, 100);
  p.range("next", 20, 30);
  p.kernel(100, 15);
  p.kernel(50, 20);
  p.kernel(20, 99);
  p.kernel(10, 100);
  p.kernel(3, -1);
  EXPECT_EQ(p.stacks(),
            (Times{{"/outer/inner", 100}, {"/outer/next", 50}, {"/outer", 20}, {"", 13}}));
}

TEST(OperatorTree, StacksOfAllStepsAddUp) {
  Program p;
  for (int64_t i = 0; i < 3; ++i) {
    p.range("ProfilerStep#" + std::to_string(i), i * 100, i * 100 + 90);
    p.range("forward", i * 100, i * 100 + 90);
    p.kernel(10, i * 100 + 10);
  }
  EXPECT_EQ(p.stacks(), (Times{{"/forward", 30}}));
  EXPECT_EQ(p.costs(OperatorRanges::kOperators).at("ProfilerStep*").calls, 3U);
}

TEST(OperatorTree, OfRangesThatOverlapTheOneThatIsOverIsLeft) {
  Program p;
  p.range("a", 0, 10);
  p.range("b", 5, 20);
  p.range("c", 12, 15);
  p.range("d", 16, 18);
  p.kernel(10, 7);
  p.kernel(20, 13);
  p.kernel(30, 15);
  p.kernel(40, 17);
  EXPECT_EQ(p.stacks(), (Times{{"/a/b", 10}, {"/b/c", 20}, {"/b", 30}, {"/b/d", 40}}));
  EXPECT_EQ(p.costs(OperatorRanges::kOperators).at("b").calls, 1U);
}

TEST(OperatorTree, ACallWithinACallOfTheSameOperatorAddsNothingToTotals) {
  Program p;
  p.range("f", 0, 100);
  p.range("g", 10, 90);
  p.range("f", 20, 80);
  p.kernel(7, 30);
  p.kernel(11, 95);
  const auto costs = p.costs(OperatorRanges::kOperators);
  EXPECT_EQ(costs.at("f").calls, 2U);
  EXPECT_EQ(costs.at("f").host_total_ns, 100);
  EXPECT_EQ(costs.at("f").host_self_ns, 20 + 60);
  EXPECT_EQ(costs.at("f").device_total_ns, 18);
  EXPECT_EQ(costs.at("f").device_self_ns, 18);
  EXPECT_EQ(costs.at("g").host_self_ns, 20);
  EXPECT_EQ(costs.at("g").device_total_ns, 7);
  EXPECT_EQ(costs.at("g").device_self_ns, 0);
}

TEST(OperatorTree, SelfTimesOfRangesThatOverlapAreNoMoreThanTheTimeThatPassed) {
  Program p;
  p.range("a", 0, 100);
  p.range("b", 0, 60);
  p.range("c", 50, 100);
  const auto costs = p.costs(OperatorRanges::kOperators);
  EXPECT_EQ(costs.at("a").host_self_ns, 0);
  EXPECT_EQ(costs.at("b").host_self_ns, 50);
  EXPECT_EQ(costs.at("c").host_self_ns, 50);
}

TEST(OperatorTree, RangesLikeStairsTakeBoundedMemory) {
  Program p;
  constexpr int64_t kRanges = 2'000;  // by the square: 2 million nodes
  for (int64_t i = 0; i < kRanges; ++i) {
    p.range("r" + std::to_string(i), i, kRanges + i);
  }
  p.kernel(7, 2 * kRanges - 2);
  const OperatorTree tree = p.tree(OperatorRanges::kOperators);
  EXPECT_LT(tree.nodes.size(), size_t{1'100'000});
  const auto costs = operatorCosts(tree);
  int64_t device_ns = 0;
  for (const OperatorCost& cost : costs) device_ns += cost.device_self_ns;
  EXPECT_EQ(device_ns, 7);
}

TEST(OperatorTree, SumsOfAbsurdTimesStayAtTheLargest) {
  Program p;
  for (uint32_t thread = 1; thread <= 3; ++thread) {
    p.range("f", INT64_MIN / 2, INT64_MAX / 2, {.thread = thread});
    p.range("g", INT64_MIN / 4, INT64_MAX / 4, {.thread = thread});
  }
  const auto costs = p.costs(OperatorRanges::kOperators);
  EXPECT_EQ(costs.at("f").host_total_ns, INT64_MAX);
  EXPECT_EQ(costs.at("g").host_total_ns, INT64_MAX);
  EXPECT_GE(costs.at("f").host_self_ns, 0);
}

TEST(OperatorTree, AddressesDoNotSplitNames) {
  EXPECT_EQ(foldedName("<built-in method f of type object at 0x7ce2d4>"),
            "<built-in method f of type object at 0x*>");
  EXPECT_EQ(foldedName("0xg and 10x0x3"), "0xg and 10x0x3");
  EXPECT_EQ(foldedName("ProfilerStep#12"), "ProfilerStep*");
  EXPECT_EQ(foldedName("0x1"), "0x*");
  EXPECT_EQ(foldedName("0x"), "0x");
}

/// Two modules, whose operators' gradients are computed on thread 2 in the opposite order.
Program training() {
  Program p;
  p.range("nn.Module: A_0", 0, 100, {.category = "python_function"});
  p.range("aten::linear", 10, 90);
  p.range("aten::addmm", 20, 80, {.sequence = 1});
  p.kernel(1, 30);
  p.range("nn.Module: B_0", 100, 200, {.category = "python_function"});
  p.range("aten::relu", 110, 190, {.sequence = 2});
  p.kernel(2, 120);
  p.range("evaluate: ReluBackward", 300, 400, {.thread = 2, .sequence = 2, .forward_thread = 1});
  p.range("ReluBackward", 310, 390, {.thread = 2, .sequence = 2, .forward_thread = 1});
  p.kernel(4, 320, 2);
  p.range("evaluate: AddmmBackward", 400, 500, {.thread = 2, .sequence = 1, .forward_thread = 1});
  p.range("AddmmBackward", 410, 490, {.thread = 2, .sequence = 1, .forward_thread = 1});
  p.range("aten::mm", 420, 430, {.thread = 2});
  p.kernel(8, 425, 2);
  p.kernel(16, 495, 2);
  p.range("evaluate: AccumulateGrad", 500, 600, {.thread = 2});
  p.kernel(32, 510, 2);
  return p;
}

TEST(OperatorTree, BackwardOperatorsBelongToTheModuleOfTheForwardOne) {
  const auto modules = training().costs(OperatorRanges::kModules);
  EXPECT_EQ(modules.at("nn.Module: A_0").device_total_ns, 1 + 8 + 16);
  EXPECT_EQ(modules.at("nn.Module: B_0").device_total_ns, 2 + 4);
  EXPECT_EQ(modules.at("nn.Module: A_0").calls, 1U);
  EXPECT_EQ(modules.at("nn.Module: A_0").host_total_ns, 100);
  EXPECT_EQ(modules.at("").device_self_ns, 32);
}

TEST(OperatorTree, BackwardOperatorsAreBelowTheForwardOneInStacks) {
  EXPECT_EQ(
      training().stacks(),
      (Times{{"/nn.Module: A_0/aten::linear/aten::addmm", 1},
             {"/nn.Module: B_0/aten::relu", 2},
             {"/nn.Module: B_0/aten::relu/evaluate: ReluBackward/ReluBackward", 4},
             {"/nn.Module: A_0/aten::linear/aten::addmm/evaluate: AddmmBackward/AddmmBackward/"
              "aten::mm",
              8},
             {"/nn.Module: A_0/aten::linear/aten::addmm/evaluate: AddmmBackward", 16},
             {"/evaluate: AccumulateGrad", 32}}));
}

TEST(OperatorTree, AnOperatorHasTheWorkOfItsBackwardOperators) {
  const auto operators = training().costs(OperatorRanges::kOperators);
  EXPECT_EQ(operators.at("aten::addmm").backward_total_ns, 24);
  EXPECT_EQ(operators.at("aten::linear").backward_total_ns, 24);
  EXPECT_EQ(operators.at("aten::linear").device_total_ns, 1);
  EXPECT_EQ(operators.at("aten::relu").backward_total_ns, 4);
  EXPECT_EQ(operators.at("evaluate: AddmmBackward").device_total_ns, 24);
  EXPECT_EQ(operators.at("").backward_total_ns, 0);
}

TEST(OperatorTree, TheLastForwardOperatorWithTheNumberCausedTheBackwardOne) {
  Program p;
  p.range("first", 0, 10, {.sequence = 1});
  p.range("second", 20, 30, {.sequence = 1});
  p.range("later", 900, 910, {.sequence = 1});
  p.range("Backward", 100, 200, {.thread = 2, .sequence = 1, .forward_thread = 1});
  p.kernel(5, 150, 2);
  p.range("OtherBackward", 300, 400, {.thread = 2, .sequence = 7, .forward_thread = 1});
  p.kernel(6, 350, 2);
  EXPECT_EQ(p.stacks(), (Times{{"/second/Backward", 5}, {"/OtherBackward", 6}}));
}

TEST(OperatorTree, BackwardOnTheThreadOfForwardStaysInTheRangesAroundIt) {
  Program p;
  p.range("aten::mm", 0, 10, {.sequence = 1});
  p.range("loss.backward", 20, 90, {.category = "python_function"});
  p.range("MmBackward", 30, 80, {.sequence = 1, .forward_thread = 1});
  p.kernel(5, 40);
  EXPECT_EQ(p.stacks(), (Times{{"/loss.backward/MmBackward", 5}}));
  EXPECT_EQ(p.costs(OperatorRanges::kOperators).at("aten::mm").backward_total_ns, 5);
}

}  // namespace
}  // namespace tracesmith
