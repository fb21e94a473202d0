// SPDX-License-Identifier: Apache-2.0
// What goes wrong with buffers and kinds if the script says so, and what CUDA 13 has for several
// subscribers and for records of selected fields.
#include "standin_client.hpp"

namespace {

void launchInThreads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      cuCtxSetCurrent(context);
      for (unsigned i = 1; i <= 10; ++i) launch(i, nullptr);
      cuCtxSynchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(StandinBuffers, EachThreadMayHaveItsOwn) {
  alone("per_thread_buffers=1", [] {
    start();
    launchInThreads();
    drain();
    EXPECT_EQ(kernels().size(), 40u);
    EXPECT_EQ(client.handed_over, 4);
  });
  alone("per_thread_buffers=0", [] {
    start();
    launchInThreads();
    drain();
    EXPECT_EQ(kernels().size(), 40u);
    EXPECT_LT(client.handed_over, 4);
  });
}

TEST(StandinBuffers, AKindMayBeWrittenLast) {
  alone("lazy_kinds=1,late_ms=10000", [] {
    start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONTEXT});
    launch(1, nullptr);
    cuCtxSynchronize();
    static size_t whole = 0;
    static CUptiResult last = CUPTI_SUCCESS;
    cuptiActivityRegisterCallbacks(
        onRequest, [](CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
          CUpti_Activity* record = nullptr;
          while ((last = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS)
            ++whole;
        });
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    EXPECT_EQ(whole, 1u);
    EXPECT_EQ(last, CUPTI_ERROR_INVALID_KIND);
  });
  alone("lazy_kinds=1", [] {
    start();
    launch(1, nullptr);
    drain();
    EXPECT_EQ(kernels().size(), 1u);
  });
}

TEST(StandinBuffers, AKindMayBeDenied) {
  alone("deny_kind=1", [] {
    startTool({});
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
  });
}

TEST(StandinBuffers, AnOldCuptiHasNoTimestampCallback) {
  alone("", [] {
    setenv("STANDIN_CUPTI_VERSION", "16", 1);
    EXPECT_EQ(cuptiActivityRegisterTimestampCallback(standinNow), CUPTI_ERROR_NOT_SUPPORTED);
  });
}

#if CUDA_VERSION >= 13000

// A client of the functions that name a subscriber.
struct Subscriber {
  CUpti_SubscriberHandle handle = nullptr;
  std::mutex mutex;
  std::vector<uint64_t> correlations;
  std::vector<std::string> names;
  std::vector<uint64_t> starts, ends;
  size_t record_bytes = 0;
  unsigned calls = 0;
} subscribers[2];

template <int kWhich>
void onCallOf(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) {
    *call->correlationData = kWhich + 1;
  } else {
    EXPECT_EQ(*call->correlationData, kWhich + 1u);
  }
  ++subscribers[kWhich].calls;
}

void onRequestOf(uint8_t** buffer, size_t* size, size_t* most_records,
                 CUpti_BufferCallbackRequestInfo* info) {
  EXPECT_EQ(info->structSize, sizeof *info);
  *size = 4096;
  *most_records = 0;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
}

// Reads records by the layouts that come with the buffer.
template <int kWhich>
void onCompleteOf(uint8_t* buffer, size_t, size_t valid, CUpti_BufferCallbackCompleteInfo* info) {
  Subscriber& mine = subscribers[kWhich];
  const std::lock_guard lock(mine.mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord_v2(mine.handle, buffer, valid, &record) == CUPTI_SUCCESS) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(record);
    if (info->ppRecordLayouts == nullptr) {
      const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
      mine.correlations.push_back(kernel->correlationId);
      mine.starts.push_back(kernel->start);
      continue;
    }
    const CUpti_ActivityRecordLayout* layout = info->ppRecordLayouts[record->kind];
    mine.record_bytes = layout->recordSize;
    for (size_t i = 0; i < layout->numFields; ++i) {
      const CUpti_ActivityFieldLayoutEntry& field = layout->pEntries[i];
      uint64_t value = 0;
      std::memcpy(&value, bytes + field.offset, std::min(field.size, sizeof value));
      if (field.fieldId == KERNEL_FIELD_CORRELATION_ID) mine.correlations.push_back(value);
      if (field.fieldId == KERNEL_FIELD_START) mine.starts.push_back(value);
      if (field.fieldId == KERNEL_FIELD_END) mine.ends.push_back(value);
      if (field.fieldId == KERNEL_FIELD_NAME) {
        mine.names.emplace_back(reinterpret_cast<const char*>(value));
      }
    }
  }
  std::free(buffer);
}

CUptiResult subscribeTo(int which, bool many, const char* name, char* other = nullptr) {
  CUpti_SubscriberParams params{};
  params.structSize = sizeof params;
  params.subscriberName = name;
  params.oldSubscriberName = other;
  params.oldSubscriberSize = other != nullptr ? CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN : 0;
  params.allowMultipleSubscribers = many;
  return cuptiSubscribe_v2(&subscribers[which].handle, which == 0 ? onCallOf<0> : onCallOf<1>,
                           nullptr, &params);
}

void registerFor(int which) {
  EXPECT_EQ(cuptiActivityRegisterCallbacks_v2(subscribers[which].handle, onRequestOf,
                                              which == 0 ? onCompleteOf<0> : onCompleteOf<1>),
            CUPTI_SUCCESS);
}

void selectFields(int which, std::vector<int> ids, CUptiResult expected = CUPTI_SUCCESS) {
  CUpti_ActivityConfig config{};
  config.structSize = sizeof config;
  config.fieldSelection = {sizeof config.fieldSelection, ids.size(), ids.data()};
  EXPECT_EQ(cuptiActivityEnable_v2(subscribers[which].handle, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                   &config),
            expected);
}

TEST(StandinSubscribers, SeveralAreLetInIfAllOfThemWantItSo) {
  alone("", [] {
    char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
    EXPECT_EQ(subscribeTo(0, true, "one"), CUPTI_SUCCESS);
    EXPECT_EQ(subscribeTo(1, false, "two"), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CUpti_SubscriberHandle old = nullptr;
    EXPECT_EQ(cuptiSubscribe(&old, onCallback, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(subscribeTo(1, true, "two", other), CUPTI_SUCCESS);
    EXPECT_STREQ(other, "CUPTI for one");
    uint8_t state = 0;
    size_t bytes = sizeof state;
    EXPECT_EQ(
        cuptiActivityGetAttribute_v2(subscribers[0].handle,
                                     CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE, &bytes, &state),
        CUPTI_SUCCESS);
    EXPECT_EQ(state, 1);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_NOT_SUPPORTED);
  });
  alone("second_subscriber=2", [] {
    EXPECT_EQ(subscribeTo(0, false, "one"), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(subscribeTo(0, true, "one"), CUPTI_SUCCESS);
  });
}

TEST(StandinSubscribers, EachHasItsOwnCallsKindsAndClock) {
  alone("", [] {
    for (int which : {0, 1}) {
      EXPECT_EQ(subscribeTo(which, true, "test"), CUPTI_SUCCESS);
      registerFor(which);
      cuptiEnableDomain(1, subscribers[which].handle, CUPTI_CB_DOMAIN_DRIVER_API);
    }
    static const uint64_t ahead = uint64_t{1} << 50;
    CUpti_TimestampCallbackFunc clock = [] { return standinNow() + ahead; };
    size_t bytes = sizeof clock;
    EXPECT_EQ(cuptiActivitySetAttribute_v2(subscribers[1].handle,
                                           CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK, &bytes, &clock),
              CUPTI_SUCCESS);
    for (Subscriber& each : subscribers) {
      EXPECT_EQ(cuptiActivityEnable_v2(each.handle, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr),
                CUPTI_SUCCESS);
    }
    startProgram();
    launch(1, nullptr);
    drain();
    EXPECT_EQ(cuptiActivityDisable_v2(subscribers[0].handle, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                      nullptr),
              CUPTI_SUCCESS);
    launch(1, nullptr);
    drain();
    EXPECT_EQ(subscribers[0].calls, subscribers[1].calls);
    EXPECT_GT(subscribers[0].calls, 0u);
    ASSERT_EQ(subscribers[0].correlations.size(), 1u);
    ASSERT_EQ(subscribers[1].correlations.size(), 2u);
    EXPECT_EQ(subscribers[0].correlations[0], subscribers[1].correlations[0]);
    uint64_t now = 0;
    EXPECT_EQ(cuptiGetTimestamp_v2(subscribers[1].handle, &now), CUPTI_SUCCESS);
    EXPECT_LT(subscribers[1].starts[0], now);
    EXPECT_GT(subscribers[1].starts[0], now - 1'000'000'000u);
    EXPECT_EQ(cuptiUnsubscribe(subscribers[1].handle), CUPTI_SUCCESS);
    launch(1, nullptr);
    EXPECT_EQ(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    EXPECT_EQ(subscribers[1].correlations.size(), 2u);
  });
}

void startSelecting() {
  EXPECT_EQ(subscribeTo(0, true, "test"), CUPTI_SUCCESS);
  uint8_t yes = 1;
  size_t bytes = sizeof yes;
  EXPECT_EQ(cuptiActivitySetAttribute_v2(subscribers[0].handle,
                                         CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS, &bytes, &yes),
            CUPTI_SUCCESS);
  registerFor(0);
}

TEST(StandinSubscribers, RecordsHaveOnlyTheFieldsThatAreSelected) {
  alone("", [] {
    startSelecting();
    selectFields(0, {KERNEL_FIELD_START}, CUPTI_ERROR_INVALID_PARAMETER);
    selectFields(0, {KERNEL_FIELD_KIND, KERNEL_FIELD_CORRELATION_ID, KERNEL_FIELD_START,
                     KERNEL_FIELD_END, KERNEL_FIELD_NAME, KERNEL_FIELD_STREAM_ID});
    startProgram();
    for (unsigned i = 1; i <= 200; ++i) launch(i, nullptr);
    drain();
    const Subscriber& mine = subscribers[0];
    ASSERT_EQ(mine.correlations.size(), 200u);
    EXPECT_EQ(mine.record_bytes, 48u);
    EXPECT_EQ(mine.correlations[1], mine.correlations[0] + 1);
    EXPECT_EQ(mine.names[7], "vectorAdd");
    for (size_t i = 0; i < 200; ++i) EXPECT_EQ(mine.ends[i] - mine.starts[i], 5000u);
    // Another selection, as it must be made.
    const auto kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    EXPECT_EQ(cuptiActivityDisable_v2(mine.handle, kind, nullptr), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    selectFields(0, {KERNEL_FIELD_KIND, KERNEL_FIELD_CORRELATION_ID});
    launch(1, nullptr);
    drain();
    EXPECT_EQ(mine.correlations.size(), 201u);
    EXPECT_EQ(mine.record_bytes, 16u);
  });
}

TEST(StandinSubscribers, BeforeCuda13Point3LayoutsAreNotTold) {
  alone("", [] {
    setenv("STANDIN_CUPTI_VERSION", "130200", 1);
    startSelecting();
    selectFields(0, {KERNEL_FIELD_KIND, KERNEL_FIELD_CORRELATION_ID});
    startProgram();
    static bool has_layouts = true;
    cuptiActivityRegisterCallbacks_v2(
        subscribers[0].handle, onRequestOf,
        [](uint8_t*, size_t, size_t, CUpti_BufferCallbackCompleteInfo* info) {
          has_layouts = info->ppRecordLayouts != nullptr;
        });
    launch(1, nullptr);
    drain();
    EXPECT_FALSE(has_layouts);
  });
}

TEST(StandinSubscribers, FieldsAreSelectedAnewOnlyAfterAFlush) {
  EXPECT_DEATH(
      {
        startSelecting();
        selectFields(0, {KERNEL_FIELD_KIND, KERNEL_FIELD_START});
        startProgram();
        launch(1, nullptr);
        cuptiActivityDisable_v2(subscribers[0].handle, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                nullptr);
        selectFields(0, {KERNEL_FIELD_KIND, KERNEL_FIELD_END});
      },
      "without a forced flush");
}

#endif

}  // namespace
