// SPDX-License-Identifier: Apache-2.0
// The stand-ins behave as what they stand for, as far as its documentation says: each test is a
// client of CUPTI in a process of its own, for a process has one libcupti with one state.
#include "standin_client.hpp"

namespace {

TEST(Standin, CallbacksComeInPairsOnTheCallingThread) {
  alone("", [] {
    start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([] {
        cuCtxSetCurrent(context);
        for (unsigned i = 1; i <= 100; ++i) launch(i, nullptr);
        EXPECT_EQ(cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<uint32_t> ids;
    for (const auto& [thread, calls] : client.calls) {
      ASSERT_EQ(calls.size() % 2, 0u);
      unsigned grid = 0;
      for (size_t i = 0; i < calls.size(); i += 2) {
        const Seen &enter = calls[i], &exit = calls[i + 1];
        EXPECT_EQ(enter.site, CUPTI_API_ENTER);
        EXPECT_EQ(exit.site, CUPTI_API_EXIT);
        EXPECT_EQ(enter.correlation, exit.correlation);
        EXPECT_EQ(exit.data, enter.correlation + 7u);
        EXPECT_EQ(enter.cbid, exit.cbid);
        EXPECT_EQ(enter.function, exit.function);
        EXPECT_TRUE(ids.insert(enter.correlation).second);
        if (enter.function != "cuLaunchKernel") continue;
        EXPECT_EQ(enter.symbol, "vectorAdd");
        EXPECT_EQ(enter.grid_x, exit.result == CUDA_SUCCESS ? ++grid : 0);
      }
    }
    EXPECT_EQ(client.calls.size(), 3u);
    EXPECT_EQ(launchIds().size(), 200u);
  });
}

TEST(Standin, EveryKernelComesBackOnce) {
  alone("", [] {
    client.buffer_bytes = 4096;
    start();
    CUstream streams[] = {stream(), stream(), nullptr};
    for (unsigned i = 0; i < 1000; ++i) launch(i + 1, streams[i % 3]);
    drain();
    std::vector<uint32_t> launched = launchIds();
    std::map<uint32_t, Seen> enters;
    for (const Seen& call : client.calls.begin()->second) {
      if (call.site == CUPTI_API_ENTER) enters.emplace(call.correlation, call);
    }
    std::vector<uint32_t> back;
    std::map<uint32_t, std::vector<std::pair<uint64_t, uint64_t>>> spans;
    for (const KernelRecord& record : kernels()) {
      back.push_back(record.correlationId);
      const Seen& enter = enters.at(record.correlationId);
      EXPECT_GT(record.end, record.start);
      EXPECT_EQ(record.end - record.start, 5000u);
      EXPECT_GT(record.start, enter.at_ns);
      EXPECT_EQ(record.gridX, static_cast<int>(enter.grid_x));
      EXPECT_EQ(record.blockX, 64);
      EXPECT_EQ(record.blockY, 2);
      EXPECT_EQ(record.dynamicSharedMemory, 256);
      EXPECT_STREQ(record.name, "vectorAdd");
      uint32_t id = 0;
      EXPECT_EQ(cuptiGetStreamIdEx(context, streams[(enter.grid_x - 1) % 3], 0, &id),
                CUPTI_SUCCESS);
      EXPECT_EQ(record.streamId, id);
      spans[id].emplace_back(record.start, record.end);
    }
    std::sort(back.begin(), back.end());
    EXPECT_EQ(back, launched);
    for (auto& [id, list] : spans) {
      std::sort(list.begin(), list.end());
      // Each is timed against the client's clock at another moment: a few of them may touch.
      for (size_t i = 1; i < list.size(); ++i) EXPECT_GE(list[i].first + 1000, list[i - 1].second);
    }
    EXPECT_GT(client.handed_over, 10);
    EXPECT_EQ(dropped(), 0u);
  });
}

TEST(Standin, BuffersComeWhenTheirWorkIsDone) {
  alone("kernel_ns=20000000", [] {
    client.most_records = 1;
    start();
    CUstream busy = stream(), idle = stream();
    for (unsigned i = 0; i < 10; ++i) launch(i + 1, busy);
    launch(11, idle);
    drain();
    const std::vector<KernelRecord> all = kernels();
    ASSERT_EQ(all.size(), 11u);
    EXPECT_NE(all.back().gridX, 11) << "what was launched last ended long before";
  });
}

TEST(Standin, EachKindHasItsRecord) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONTEXT,
           CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_OVERHEAD,
           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT,
           CUPTI_ACTIVITY_KIND_DRIVER});
    CUdeviceptr memory = 0;
    char host[100] = "bytes", back[100] = {};
    CUstream on = stream();
    CUevent event = nullptr;
    cuMemAlloc(&memory, 100);
    EXPECT_EQ(cuMemcpyHtoD(memory, host, 100), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync(back, memory, 60, on), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(host, back, 60), 0);
    EXPECT_EQ(cuMemsetD8Async(memory, 3, 50, on), CUDA_SUCCESS);
    cuEventCreate(&event, 0);
    cuEventRecord(event, on);
    cuStreamWaitEvent(nullptr, event, 0);
    cuStreamSynchronize(on);
    drain();

    const auto copies = records<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(copies[0].bytes, 100u);
    EXPECT_EQ(copies[0].flags, 0);
    EXPECT_EQ(copies[1].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    EXPECT_EQ(copies[1].bytes, 60u);
    EXPECT_EQ(copies[1].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    EXPECT_GT(copies[1].end, copies[1].start);
    const auto fills = records<FillRecord>(CUPTI_ACTIVITY_KIND_MEMSET);
    ASSERT_EQ(fills.size(), 1u);
    EXPECT_EQ(fills[0].bytes, 50u);
    EXPECT_EQ(fills[0].value, 3u);
    const auto syncs = records<SyncRecord>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    ASSERT_EQ(syncs.size(), 3u);
    EXPECT_EQ(syncs[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
    EXPECT_EQ(syncs[1].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    EXPECT_EQ(syncs[2].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    const auto events = records<EventRecord>(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(syncs[0].cudaEventId, events[0].eventId);
    const auto contexts = records<ContextRecord>(CUPTI_ACTIVITY_KIND_CONTEXT);
    ASSERT_EQ(contexts.size(), 1u);
    EXPECT_EQ(contexts[0].contextId, copies[0].contextId);
    EXPECT_EQ(contexts[0].nullStreamId, copies[0].streamId);
    EXPECT_EQ(records<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM).size(), 2u);
    const auto devices = records<DeviceRecord>(CUPTI_ACTIVITY_KIND_DEVICE);
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_STREQ(devices[0].name, kStandinDeviceName);
    EXPECT_EQ(records<OverheadRecord>(CUPTI_ACTIVITY_KIND_OVERHEAD).size(), 1u);
    size_t exits = 0;
    for (const Seen& call : client.calls.begin()->second) exits += call.site == CUPTI_API_EXIT;
    EXPECT_EQ(records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER).size(), exits);
    const std::vector<uint32_t> resources{
        CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
        CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_STREAM_CREATED};
    EXPECT_EQ(client.resources, resources);
  });
}

TEST(Standin, RecordsWithoutABufferAreDroppedAndCounted) {
  alone("", [] {
    client.buffers = 1;
    client.most_records = 10;
    start();
    for (unsigned i = 0; i < 25; ++i) launch(i + 1, nullptr);
    drain();
    EXPECT_EQ(kernels().size(), 10u);
    EXPECT_EQ(dropped(), 15u);
    EXPECT_EQ(dropped(), 0u);
  });
  alone("drop_every=5", [] {
    start();
    for (unsigned i = 0; i < 25; ++i) launch(i + 1, nullptr);
    drain();
    EXPECT_EQ(kernels().size(), 20u);
    EXPECT_EQ(dropped(), 5u);
  });
}

TEST(Standin, AForcedFlushReturnsWhatIsNotComplete) {
  alone("late_ms=10000", [] {
    client.most_records = 10;
    start();
    for (unsigned i = 0; i < 25; ++i) launch(i + 1, nullptr);
    cuCtxSynchronize();
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(kernels().size(), 0u);
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    EXPECT_EQ(kernels().size(), 25u);
    EXPECT_EQ(client.handed_over, 3);
    for (const KernelRecord& record : kernels()) EXPECT_EQ(record.end, 0u);
  });
}

TEST(Standin, SomeRecordsHaveNoTimes) {
  alone("zero_times=4", [] {
    start();
    for (unsigned i = 0; i < 20; ++i) launch(i + 1, nullptr);
    drain();
    size_t untimed = 0;
    for (const KernelRecord& record : kernels()) untimed += record.start == 0 && record.end == 0;
    EXPECT_EQ(untimed, 5u);
    EXPECT_EQ(kernels().size(), 20u);
  });
}

TEST(Standin, CorrelationIdsWrap) {
  alone("correlation_start=4294967290", [] {
    start();
    for (unsigned i = 0; i < 20; ++i) launch(i + 1, nullptr);
    drain();
    std::vector<uint32_t> back;
    for (const KernelRecord& record : kernels()) back.push_back(record.correlationId);
    EXPECT_EQ(back, launchIds());
    EXPECT_LT(back.back(), back.front());
    EXPECT_EQ(std::count(back.begin(), back.end(), 0u), 0);
  });
}

TEST(Standin, ASecondSubscriberIsRefused) {
  alone("", [] {
    start();
    CUpti_SubscriberHandle second = nullptr;
    EXPECT_EQ(cuptiSubscribe(&second, onCallback, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiUnsubscribe(client.subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiSubscribe(&second, onCallback, nullptr), CUPTI_SUCCESS);
  });
  alone("second_subscriber=1", [] {
    CUpti_SubscriberHandle mine = nullptr;
    EXPECT_EQ(cuptiSubscribe(&mine, onCallback, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
#if CUDA_VERSION >= 13000
    char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "test";
    params.oldSubscriberName = other;
    params.oldSubscriberSize = sizeof other;
    EXPECT_EQ(cuptiSubscribe_v2(&mine, onCallback, nullptr, &params),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_STREQ(other, "CUPTI for another tool");
#endif
  });
}

TEST(Standin, WithoutADriverNothingCanBeEnabled) {
  alone("no_driver=1", [] {
    CUpti_SubscriberHandle mine = nullptr;
    EXPECT_EQ(cuptiSubscribe(&mine, onCallback, nullptr), CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_UNKNOWN);
    uint32_t version = 0;
    EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
    EXPECT_EQ(version, static_cast<uint32_t>(CUPTI_API_VERSION));
    setenv("STANDIN_CUPTI_VERSION", "130001", 1);
    cuptiGetVersion(&version);
    EXPECT_EQ(version, 130001u);
  });
}

// Instantiates a graph of two kernels and launches it twice.
void launchGraph() {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  for (unsigned i = 1; i <= 2; ++i) {
    CUDA_KERNEL_NODE_PARAMS how{};
    how.func = kernel;
    how.gridDimX = how.gridDimY = how.gridDimZ = i;
    how.blockDimX = how.blockDimY = how.blockDimZ = 1;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &how), CUDA_SUCCESS);
  }
#if CUDA_VERSION >= 12000
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
#else
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0), CUDA_SUCCESS);
#endif
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  drain();
}

TEST(Standin, AGraphIsRecordedByNodesOrAsAWhole) {
  alone("", [] {
    start();
    launchGraph();
    const auto all = kernels();
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].correlationId, all[1].correlationId);
    EXPECT_NE(all[1].correlationId, all[2].correlationId);
    EXPECT_EQ(all[0].graphNodeId, all[2].graphNodeId);
    EXPECT_NE(all[0].graphNodeId, all[1].graphNodeId);
    EXPECT_NE(all[0].graphId, 0u);
    const auto& seen = client.resources;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED), 2);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED), 2);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED), 1);
  });
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
    launchGraph();
    const auto all = records<GraphRecord>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_GE(all[0].end - all[0].start, 10000u);
    EXPECT_EQ(kernels().size(), 0u);
  });
}

TEST(Standin, TimesAreOfTheClientsClock) {
  alone("", [] {
    static const uint64_t ahead = uint64_t{1} << 50;
    EXPECT_EQ(cuptiActivityRegisterTimestampCallback([] { return standinNow() + ahead; }),
              CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityEnableLatencyTimestamps(1), CUPTI_SUCCESS);
    start();
    const uint64_t before = standinNow() + ahead;
    launch(1, nullptr);
    drain();
    const auto all = kernels();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_GT(all[0].start, before);
    EXPECT_LT(all[0].end, standinNow() + ahead);
    EXPECT_GT(all[0].queued, before);
    EXPECT_GT(all[0].submitted, all[0].queued);
    EXPECT_LT(all[0].submitted, all[0].start);
  });
}

TEST(Standin, TheProcessMayEndDuringAFlush) {
  EXPECT_EXIT(
      {
        setenv("STANDIN_SCRIPT", "exit_during_flush=1", 1);
        start();
        launch(1, nullptr);
        drain();
        _exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Standin, WhatMustNotBeDoneEndsTheProgram) {
  const auto flushIn = [](int where) {
    start();
    client.flush_in = where;
    stream();
    launch(1, nullptr);
    drain();
  };
  EXPECT_DEATH(flushIn(CUPTI_CB_DOMAIN_RESOURCE), "from a callback for a resource");
  EXPECT_DEATH(flushIn(-1), "from a callback for buffers");
  EXPECT_DEATH(
      {
        start();
        cuptiActivityRegisterTimestampCallback(standinNow);
      },
      "after a kind is enabled");
  EXPECT_DEATH(
      {
        uint8_t zeroed = 1;
        size_t bytes = sizeof zeroed;
        cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed);
        start();
        launch(1, nullptr);
      },
      "not zeroed");
}

TEST(Standin, AForkedChildHasNoDriver) {
  alone("", [] {
    start();
    const pid_t child = fork();
    if (child == 0) {
      CUcontext other = nullptr;
      _exit(cuCtxGetCurrent(&other) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  });
}

TEST(Standin, AResetContextHasAnotherIdAndItsWorkIsKept) {
  alone("", [] {
    start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONTEXT});
    const CUcontext before = context;
    launch(1, nullptr);
    EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_CONTEXT_IS_DESTROYED);
    startProgram();
    EXPECT_EQ(context, before);
    launch(2, nullptr);
    drain();
    const auto all = kernels();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1].contextId, all[0].contextId + 1);
    EXPECT_EQ(records<ContextRecord>(CUPTI_ACTIVITY_KIND_CONTEXT).size(), 2u);
    const auto& seen = client.resources;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING),
              1);
  });
}

TEST(Standin, TwoDevicesHaveTheirOwnContexts) {
  alone("devices=2", [] {
    start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DEVICE});
    launch(1, nullptr);
    CUcontext other = nullptr, popped = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 2), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuCtxPushCurrent(other), CUDA_SUCCESS);
    launch(2, nullptr);
    cuCtxSynchronize();
    EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, other);
    drain();
    const auto all = kernels();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].deviceId, 0u);
    EXPECT_EQ(all[1].deviceId, 1u);
    EXPECT_NE(all[0].contextId, all[1].contextId);
    const auto devices = records<DeviceRecord>(CUPTI_ACTIVITY_KIND_DEVICE);
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].id, 1u);
    EXPECT_NE(devices[0].uuid.bytes[15], devices[1].uuid.bytes[15]);
  });
}

TEST(Standin, AModulesImageIsTheCallbacksOnly) {
  alone("", [] {
    startProgram();
    static std::vector<std::pair<uint32_t, std::string>> images;
    ASSERT_EQ(cuptiSubscribe(
                  &client.subscriber,
                  [](void*, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void* data) {
                    const auto* module = static_cast<const CUpti_ModuleResourceData*>(
                        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
                    images.emplace_back(cbid, std::string(module->pCubin, module->cubinSize));
                  },
                  nullptr),
              CUPTI_SUCCESS);
    for (uint32_t cbid :
         {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}) {
      cuptiEnableCallback(1, client.subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
    }
    const std::string image = "an image that is too long for a short string of the library";
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, image.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    ASSERT_EQ(images.size(), 2u);
    EXPECT_EQ(images[0].first, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    EXPECT_EQ(images[0].second, image);
    EXPECT_EQ(images[1].second, image);
  });
}

TEST(Standin, AfterItWasFinalizedNothingIsHeardUntilTheNextSubscriber) {
  alone("", [] {
    start();
    launch(1, nullptr);
    drain();
    launch(2, nullptr);
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    const size_t calls = client.calls.begin()->second.size();
    launch(3, nullptr);
    cuCtxSynchronize();
    EXPECT_EQ(cuptiActivityFlushAll(1), CUPTI_ERROR_INVALID_OPERATION);
    EXPECT_EQ(kernels().size(), 1u);
    EXPECT_EQ(client.calls.begin()->second.size(), calls);
    startTool({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    launch(4, nullptr);
    drain();
    ASSERT_EQ(kernels().size(), 2u);
    EXPECT_EQ(kernels()[1].gridX, 4);
  });
}

TEST(Standin, CuInitLoadsTheInjectedLibraryOnce) {
  alone("", [] {
    setenv("CUDA_INJECTION64_PATH", STANDIN_INJECTION, 1);
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_STREQ(std::getenv("STANDIN_INJECTED"), "once");
  });
}

}  // namespace
