// SPDX-License-Identifier: Apache-2.0
// A client of CUPTI for the stand-ins' own tests: it keeps what it is told and given. One of a
// process, as CUPTI's callbacks for buffers are.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "standin.hpp"
#include "standin_records.hpp"

struct Seen {
  CUpti_ApiCallbackSite site;
  uint32_t cbid, correlation;
  uint64_t data;
  std::string function, symbol;
  unsigned grid_x;
  CUresult result;
  uint64_t at_ns;
};

// A client's memory and what it was given; of the process, as CUPTI's callbacks for buffers are.
struct Client {
  CUpti_SubscriberHandle subscriber = nullptr;
  std::mutex mutex;
  std::map<std::thread::id, std::vector<Seen>> calls;
  std::vector<uint32_t> resources;
  std::map<CUpti_ActivityKind, std::vector<std::vector<uint8_t>>> records;
  size_t buffer_bytes = 64 * 1024, most_records = 0;
  int buffers = 1 << 20;  // how many it has to give
  int handed_over = 0;
  int flush_in = 0;  // the domain of callbacks that flush, as they must not
};
inline Client client;

inline void onCallback(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                       const void* data) {
  EXPECT_EQ(userdata, &client);
  const std::lock_guard lock(client.mutex);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    client.resources.push_back(cbid);
    if (client.flush_in == domain) cuptiActivityFlushAll(0);
    return;
  }
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) *call->correlationData = call->correlationId + 7;
  uint64_t now = 0;
  cuptiGetTimestamp(&now);
  client.calls[std::this_thread::get_id()].push_back(
      {call->callbackSite, cbid, call->correlationId, *call->correlationData, call->functionName,
       call->symbolName != nullptr ? call->symbolName : "",
       cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
           ? static_cast<const cuLaunchKernel_params*>(call->functionParams)->gridDimX
           : 0,
       call->callbackSite == CUPTI_API_EXIT ? *static_cast<CUresult*>(call->functionReturnValue)
                                            : CUDA_SUCCESS,
       now});
}

inline void onRequest(uint8_t** buffer, size_t* size, size_t* most_records) {
  const std::lock_guard lock(client.mutex);
  *buffer = nullptr;
  if (client.buffers-- <= 0) return;
  *size = client.buffer_bytes;
  *most_records = client.most_records;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, client.buffer_bytes));
  std::memset(*buffer, 0xee, client.buffer_bytes);
}

inline void onComplete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (client.flush_in == -1) cuptiActivityFlushAll(0);
  const std::lock_guard lock(client.mutex);
  ++client.handed_over;
  CUpti_Activity* record = nullptr;
  auto* before = buffer;
  std::vector<CUpti_Activity*> all;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) {
    all.push_back(record);
  }
  EXPECT_EQ(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
  for (size_t i = 0; i < all.size(); ++i) {
    auto* begin = reinterpret_cast<uint8_t*>(all[i]);
    auto* end = i + 1 < all.size() ? reinterpret_cast<uint8_t*>(all[i + 1]) : buffer + valid;
    EXPECT_EQ(begin, before);
    before = end;
    client.records[all[i]->kind].emplace_back(begin, end);
  }
  std::free(buffer);
}

template <typename Record>
inline std::vector<Record> records(CUpti_ActivityKind kind) {
  const std::lock_guard lock(client.mutex);
  std::vector<Record> out;
  for (const auto& bytes : client.records[kind]) {
    EXPECT_EQ(bytes.size(), sizeof(Record));
    std::memcpy(&out.emplace_back(), bytes.data(), sizeof(Record));
  }
  return out;
}

inline std::vector<KernelRecord> kernels() {
  return records<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

inline CUcontext context = nullptr;
inline CUfunction kernel = nullptr;

inline void startTool(const std::vector<CUpti_ActivityKind>& kinds) {
  ASSERT_EQ(cuptiSubscribe(&client.subscriber, onCallback, &client), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableDomain(1, client.subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableDomain(1, client.subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityRegisterCallbacks(onRequest, onComplete), CUPTI_SUCCESS);
  for (CUpti_ActivityKind kind : kinds) ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS);
}

inline void startProgram() {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, "text"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&kernel, module, "vectorAdd"), CUDA_SUCCESS);
}

inline void start(const std::vector<CUpti_ActivityKind>& kinds = {
                      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}) {
  startTool(kinds);
  startProgram();
}

inline CUstream stream() {
  CUstream made = nullptr;
  EXPECT_EQ(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  return made;
}

inline void launch(unsigned grid, CUstream on) {
  EXPECT_EQ(cuLaunchKernel(kernel, grid, 1, 1, 64, 2, 1, 256, on, nullptr, nullptr), CUDA_SUCCESS);
}

// Everything is done, and a flush completes what the device's clock says is done.
inline void drain() {
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

inline size_t dropped() {
  size_t count = 0;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &count), CUPTI_SUCCESS);
  return count;
}

// The launches' correlation ids, by thread and in their order.
inline std::vector<uint32_t> launchIds() {
  const std::lock_guard lock(client.mutex);
  std::vector<uint32_t> ids;
  for (const auto& [thread, calls] : client.calls) {
    for (const Seen& call : calls) {
      if (call.site == CUPTI_API_EXIT && !call.symbol.empty() && call.result == CUDA_SUCCESS) {
        ids.push_back(call.correlation);
      }
    }
  }
  return ids;
}

// Runs a client in a process of its own, where the stand-ins find this script.
inline void alone(const char* script, void (*body)()) {
  const auto run = [&] {
    setenv("STANDIN_SCRIPT", script, 1);
    body();
    std::fflush(stdout);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}
