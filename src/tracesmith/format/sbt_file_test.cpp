// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/sbt_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {
namespace {

using test::TempFile;

TraceEvent eventAt(uint64_t i) {
  static const EventType kTypes[] = {EventType::KernelLaunch, EventType::KernelComplete,
                                     EventType::MemcpyH2D, EventType::MemAlloc, EventType::Custom};
  TraceEvent event(kTypes[i % std::size(kTypes)], 1'000 + i);
  event.duration = i % 7;
  event.name = "event " + std::to_string(i % 11);
  event.device_id = static_cast<uint32_t>(i % 3);
  event.stream_id = static_cast<uint32_t>(i % 5);
  event.thread_id = static_cast<uint32_t>(i % 4);
  event.correlation_id = i / 2;
  if (i % 3 == 0) event.metadata["key"] = std::to_string(i);
  if (i % 2 == 0) event.memory_params = MemoryParams{i, i + 1, i + 2};
  if (i % 4 == 0) {
    event.call_stack = CallStack{{{i % 9, "inner", "a.cpp", 1}, {7, "main", "a.cpp", 2}}, 3};
  }
  return event;
}

TEST(SBTFile, EveryFieldOfEveryEventIsReadBackAcrossBatches) {
  const TempFile file;
  std::vector<TraceEvent> events;
  for (uint64_t i = 0; i < 1'000; ++i) events.push_back(eventAt(i));
  TraceMetadata metadata;
  metadata.application_name = "app";
  metadata.devices = {{.device_id = 2, .name = "GPU two"}};
  {
    SBTWriter writer(file.path());
    ASSERT_TRUE(writer.isOpen()) << writer.lastError();
    ASSERT_TRUE(writer.writeMetadata(metadata));
    for (size_t i = 0; i < 10; ++i) ASSERT_TRUE(writer.writeEvent(events[i]));
    ASSERT_TRUE(writer.flush());
    ASSERT_TRUE(writer.writeEvents({events.begin() + 10, events.begin() + 500}));
    ASSERT_TRUE(writer.flush());  // later rows have their attributes, too
    ASSERT_TRUE(writer.writeDeviceInfo({{.device_id = 1, .name = "GPU one"}}));
    ASSERT_TRUE(writer.writeEvents({events.begin() + 500, events.end()}));
    ASSERT_TRUE(writer.finalize());
    EXPECT_EQ(writer.eventCount(), events.size());
    struct stat info {};
    ASSERT_EQ(stat(file.path().c_str(), &info), 0);
    EXPECT_EQ(writer.fileSize(), static_cast<uint64_t>(info.st_size));
    EXPECT_FALSE(writer.writeEvent(events[0])) << "a finished trace takes no more events";
  }
  SBTReader reader(file.path());
  ASSERT_TRUE(reader.isValid()) << reader.lastError();
  EXPECT_TRUE(reader.header().isValid());
  EXPECT_EQ(reader.header().version_major, 1);
  TraceRecord record;
  const SBTResult result = reader.readAll(record);
  ASSERT_TRUE(result) << result.error_message;
  EXPECT_EQ(result.error_message, "");
  EXPECT_EQ(record.events(), events);  // times are distinct, so the order is that of writing
  EXPECT_EQ(record.metadata().application_name, "app");
  ASSERT_EQ(record.metadata().devices.size(), 3u);
  for (const DeviceInfo& device : record.metadata().devices) {
    if (device.device_id == 1) {
      EXPECT_EQ(device.name, "GPU one");
    }
    if (device.device_id == 2) {
      EXPECT_EQ(device.name, "GPU two");
    }
  }
  EXPECT_EQ(reader.eventCount(), events.size());

  std::vector<TraceEvent> part;
  ASSERT_TRUE(reader.readEvents(part, 990, 100));
  EXPECT_EQ(part, std::vector<TraceEvent>(events.begin() + 990, events.end()));
  ASSERT_TRUE(reader.readEvents(part, 5'000, 1));
  EXPECT_TRUE(part.empty());
}

TEST(SBTFile, CountersAreReadBack) {
  const TempFile file;
  {
    SBTWriter writer(file.path());
    ASSERT_TRUE(writer.writeCounters(
        {{.timestamp = 1, .device_id = 1, .counter_name = "power", .value = 2.5, .unit = "W"}}));
  }  // going out of scope finalizes
  SBTReader reader(file.path());
  std::vector<CounterEvent> counters;
  ASSERT_TRUE(reader.readCounters(counters));
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].counter_name, "power");
  EXPECT_EQ(counters[0].device_id, 1u);
  EXPECT_EQ(counters[0].value, 2.5);
}

TEST(SBTFile, AnEmptyOrMissingOrForeignFileIsNotValidAndSaysWhy) {
  const TempFile file;
  SBTReader missing(file.path());
  EXPECT_FALSE(missing.isValid());
  EXPECT_NE(missing.lastError().find("No such file"), std::string::npos) << missing.lastError();
  std::vector<TraceEvent> none;
  const Error failure = missing.readEvents(none).failure;
  EXPECT_EQ(failure.code, ErrorCode::kNotFound);
  EXPECT_EQ(failure.where, file.path());
  EXPECT_EQ(failure.toString(), missing.lastError());
  file.write(Bytes{'w', 'o', 'r', 'd', 's'});
  EXPECT_EQ(SBTReader(file.path()).readEvents(none).failure.code, ErrorCode::kNotATrace);
  file.write({});
  SBTReader empty(file.path());
  EXPECT_FALSE(empty.isValid());
  EXPECT_NE(empty.lastError().find("empty"), std::string::npos);
  TraceRecord record;
  const SBTResult result = empty.readAll(record);
  EXPECT_FALSE(result);
  EXPECT_EQ(result.error_message, empty.lastError());
  EXPECT_EQ(empty.eventCount(), 0u);
}

TEST(SBTFile, AWriterThatCannotOpenSaysWhyAtEveryCall) {
  SBTWriter writer("/nonexistent-directory/x.sbt");
  EXPECT_FALSE(writer.isOpen());
  const SBTResult result = writer.writeEvent(TraceEvent(EventType::Marker, 1));
  EXPECT_FALSE(result);
  EXPECT_NE(result.error_message.find("/nonexistent-directory/x.sbt"), std::string::npos);
  EXPECT_EQ(result.failure.code, ErrorCode::kNotFound);
  EXPECT_EQ(result.failure.where, "/nonexistent-directory/x.sbt");
  EXPECT_FALSE(writer.finalize());
}

TEST(SBTFile, ADamagedTraceIsReadAsFarAsItGoesAndSaysSo) {
  const TempFile file;
  {
    SBTWriter writer(file.path());
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(writer.writeEvent(eventAt(i)));
      ASSERT_TRUE(writer.flush());
    }
  }
  Bytes bytes = file.bytes();
  bytes[bytes.size() / 2] ^= 0x10;
  file.write(bytes);
  SBTReader reader(file.path());
  ASSERT_TRUE(reader.isValid());
  TraceRecord record;
  const SBTResult result = reader.readAll(record);
  EXPECT_TRUE(result);
  EXPECT_NE(result.error_message.find("damaged"), std::string::npos) << result.error_message;
  EXPECT_GT(record.size(), 90u);
}

TEST(SBTFile, MovesAndTellsItsMetadata) {
  const TempFile first, second;
  SBTWriter writer(first.path());
  SBTWriter other(second.path());
  TraceMetadata metadata;
  metadata.application_name = "app";
  metadata.hostname = "host";
  metadata.process_id = 4711;
  ASSERT_TRUE(writer.writeMetadata(metadata));
  ASSERT_TRUE(writer.writeEvent(eventAt(1)));
  // The previous state of `other` is finalized when `writer` is destroyed.
  other = std::move(writer);
  ASSERT_TRUE(other.writeCounters(std::vector<CounterEvent>(100'000)));
  ASSERT_TRUE(other.writeEvents(std::vector<TraceEvent>(100'000, eventAt(2))));
  SBTWriter moved(std::move(other));
  ASSERT_TRUE(moved.finalize());
  EXPECT_TRUE(moved.finalize()) << "once more is no error";
  EXPECT_EQ(moved.eventCount(), 100'001U) << "counters are none";

  SBTReader from(first.path());
  SBTReader reader(std::move(from));
  ASSERT_TRUE(reader.isOpen()) << reader.lastError();
  TraceMetadata read;
  ASSERT_TRUE(reader.readMetadata(read));
  EXPECT_EQ(read.application_name, "app");
  EXPECT_EQ(read.hostname, "host");
  EXPECT_EQ(read.process_id, 4711U);
}

TEST(SBTFile, SaysWhyItCanNotBeWritten) {
  SBTWriter writer("/nonexistent/directory/a.sbt");
  EXPECT_FALSE(writer.isOpen());
  EXPECT_NE(writer.lastError().find("No such file or directory"), std::string::npos);
  EXPECT_FALSE(writer.writeEvent(eventAt(1)));
  EXPECT_FALSE(writer.finalize());

  const TempFile file;
  struct rlimit unlimited {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  struct rlimit small = unlimited;
  small.rlim_cur = 4096;
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  SBTWriter full(file.path());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  SBTResult result = SBTResult::ok();
  for (uint64_t i = 0; i < 100'000 && result; ++i) result = full.writeEvent(eventAt(i * i));
  if (result) result = full.finalize();
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(result);
  EXPECT_EQ(result.failure.code, ErrorCode::kNoSpace);
  EXPECT_NE(full.lastError().find("File too large"), std::string::npos) << full.lastError();
}

}  // namespace
}  // namespace tracesmith
