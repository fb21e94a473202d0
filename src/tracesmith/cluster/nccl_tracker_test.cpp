// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/nccl_tracker.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace tracesmith {
namespace {

using namespace agent::nccl;  // NOLINT: the layouts of NCCL's interface

/// Calls the plugin of NCCL_PROFILER_PLUGIN as NCCL 2.31 does.
class CallsPlugin {
 public:
  CallsPlugin() {
    void* const library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      plugin_ = static_cast<const Api<7>::Symbol*>(dlsym(library, "ncclProfiler_v7"));
    }
    if (plugin_ != nullptr) plugin_->init(&context_, 77, &mask_, "world", 1, 4, 2, nullptr);
  }
  ~CallsPlugin() {
    if (plugin_ != nullptr) plugin_->finalize(context_);
  }
  bool isThere() const { return plugin_ != nullptr; }
  int mask() const { return mask_; }

  void* enqueue(const char* function, size_t count, uint8_t channels) {
    Descriptor7 d{};
    d.type = static_cast<uint64_t>(bitOf(Event::kCollective));
    d.collective.function = function;
    d.collective.count = count;
    d.collective.data_type = "ncclFloat16";
    d.collective.channels = channels;
    void* handle = nullptr;
    plugin_->start(context_, &handle, &d);
    if (handle != nullptr) plugin_->stop(handle);
    return handle;
  }
  void run(void* task, uint8_t channel) {
    Descriptor7 d{};
    d.type = static_cast<uint64_t>(bitOf(Event::kKernelChannel));
    d.parent = task;
    d.kernel_channel = {channel, 1000};
    void* handle = nullptr;
    plugin_->start(context_, &handle, &d);
    if (handle == nullptr) return;
    StateArguments arguments{};
    arguments.kernel_channel.device_time = 2000;
    plugin_->state(handle, kStateKernelChannelStop, &arguments);
    plugin_->stop(handle);
  }

 private:
  const Api<7>::Symbol* plugin_ = nullptr;
  void* context_ = nullptr;
  int mask_ = 0;
};

TEST(NCCLTracker, HooksSeeWhatNcclDoes) {
  unsetenv("NCCL_PROFILER_PLUGIN");
  NCCLTracker tracker;
  ASSERT_TRUE(isNCCLAvailable());
  ASSERT_TRUE(tracker.startCapture());
  EXPECT_TRUE(tracker.isHooked());
  std::vector<uint64_t> ended;
  tracker.setOperationCallback([&](const NCCLOperation& o) { ended.push_back(o.op_id); });
  {
    CallsPlugin nccl;
    ASSERT_TRUE(nccl.isThere());
    EXPECT_NE(nccl.mask() & bitOf(Event::kKernelChannel), 0);
    void* const task = nccl.enqueue("AllReduce", 100, 2);
    EXPECT_FALSE(tracker.getOperations().at(0).completed);
    std::thread([&] { nccl.run(task, 0); }).join();
    EXPECT_FALSE(tracker.getOperations().at(0).completed);
    nccl.run(task, 1);
    ASSERT_EQ(tracker.getOperations().size(), 1u);
    const NCCLOperation o = tracker.getOperations()[0];
    EXPECT_TRUE(o.completed);
    EXPECT_EQ(o.op_type, NCCLOpType::AllReduce);
    EXPECT_EQ(o.data_type, NCCLDataType::Float16);
    EXPECT_EQ(o.data_size, 200u);
    EXPECT_EQ(o.comm_id, 77u);
    EXPECT_EQ(o.rank, 2u);
    EXPECT_EQ(o.world_size, 4u);
    EXPECT_EQ(ended, std::vector<uint64_t>{o.op_id});
    EXPECT_EQ(tracker.getOperationsByComm(77).size(), 1u);
    EXPECT_TRUE(tracker.getOperationsByType(NCCLOpType::Send).empty());
    tracker.stopCapture();
    nccl.run(nccl.enqueue("AllReduce", 100, 1), 0);
    EXPECT_EQ(tracker.getOperations().size(), 1u);
    tracker.removeHooks();
    EXPECT_EQ(nccl.enqueue("AllReduce", 100, 1), nullptr);
  }
  EXPECT_EQ(getenv("NCCL_PROFILER_PLUGIN"), nullptr);
}

TEST(NCCLTracker, AVersionWithoutChannelsEndsWhenItIsEnqueued) {
  unsetenv("NCCL_PROFILER_PLUGIN");
  NCCLTracker tracker({.max_operations = 3});
  ASSERT_TRUE(tracker.startCapture());
  void* const library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto* const plugin = static_cast<const Api<2>::Symbol*>(dlsym(library, "ncclProfiler_v2"));
  void* context = nullptr;
  int mask = 0;
  plugin->init(&context, &mask);
  for (int i = 0; i < 10; ++i) {
    Api<2>::Descriptor d{};
    d.type = static_cast<decltype(d.type)>(bitOf(Event::kCollective));
    d.collective.function = "AllReduce";
    d.collective.data_type = "ncclFloat16";
    d.collective.channels = 4;
    void* handle = nullptr;
    plugin->start(context, &handle, &d);
    plugin->stop(handle);
  }
  plugin->finalize(context);
  ASSERT_EQ(tracker.getOperations().size(), 3u);
  for (const NCCLOperation& o : tracker.getOperations()) EXPECT_TRUE(o.completed);
}

TEST(NCCLTracker, OneTrackerHasHooksAtATime) {
  NCCLTracker first, second;
  EXPECT_TRUE(first.installHooks());
  EXPECT_TRUE(first.installHooks());
  EXPECT_FALSE(second.installHooks());
  EXPECT_FALSE(second.startCapture());
  first.removeHooks();
  EXPECT_TRUE(second.installHooks());
}

TEST(NCCLTracker, OperationsOfTheCaller) {
  NCCLTracker tracker({.hook_enabled = false, .max_operations = 2});
  EXPECT_TRUE(tracker.startCapture());
  EXPECT_FALSE(tracker.isHooked());
  const uint64_t lost = tracker.recordOperationStart({.op_type = NCCLOpType::Broadcast});
  const uint64_t a = tracker.recordOperationStart(
      {.op_type = NCCLOpType::AllReduce, .data_size = 10, .start_time = 100});
  const uint64_t b = tracker.recordOperationStart(
      {.op_type = NCCLOpType::Send, .data_size = 5, .start_time = 300});
  EXPECT_FALSE(tracker.recordOperationEnd(lost, 400));
  EXPECT_TRUE(tracker.recordOperationEnd(a, 250));
  EXPECT_FALSE(tracker.recordOperationEnd(a, 260));
  const NCCLTracker::Statistics s = tracker.getStatistics();
  EXPECT_EQ(s.total_operations, 2u);
  EXPECT_EQ(s.total_bytes_transferred, 15u);
  EXPECT_EQ(s.total_duration_ns, 150u);
  EXPECT_EQ(s.ops_by_type.at(NCCLOpType::Send), 1u);
  const std::vector<TraceEvent> events = tracker.toTraceEvents();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].type, EventType::NCCLComplete);
  EXPECT_EQ(events[1].duration, 150u);

  TraceEvent other(EventType::KernelComplete, 110), kernel(EventType::KernelComplete, 120);
  other.name = "ncclDevKernel_AllGather_RING_LL";
  kernel.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  other.duration = kernel.duration = 100;
  other.correlation_id = 4;
  kernel.correlation_id = 9;
  EXPECT_EQ(tracker.correlateWithGPUEvents({other, kernel}), 1u);
  EXPECT_EQ(tracker.getOperation(a).correlation_id, 9u);
  EXPECT_EQ(tracker.getOperation(b).correlation_id, 0u);
  tracker.clear();
  EXPECT_TRUE(tracker.getOperations().empty());
}

}  // namespace
}  // namespace tracesmith
