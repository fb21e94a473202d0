// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/device_names.hpp"

#include <gmock/gmock.h>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

struct Places {
  Trace trace;
  Places() {
    for (uint32_t i = 0; i < 2; ++i) {
      trace.device.push({.id = idAt<DeviceId>(i), .ordinal = i});
      trace.process.push({.id = idAt<ProcessId>(i), .pid = 40 + i});
    }
    for (uint32_t i = 0; i < 3; ++i) trace.context.push({.id = idAt<ContextId>(i), .ordinal = i});
  }
  void stream(uint32_t number, size_t device, size_t process, size_t context, uint64_t handle = 0,
              const char* name = "") {
    StreamTable::Row row;
    row.id = idAt<StreamId>(trace.stream.size());
    row.ordinal = number;
    row.device_id = idAt<DeviceId>(device);
    row.process_id = idAt<ProcessId>(process);
    row.context_id = idAt<ContextId>(context);
    row.handle = handle;
    row.name = *name == 0 ? StringId::kNone : trace.strings.intern(name);
    trace.stream.push(row);
  }
};

TEST(PlaceNames, OneNumberIsEnoughWhereNoOtherStreamHasIt) {
  Places p;
  p.stream(7, 0, 0, 0);
  p.stream(13, 0, 0, 1);
  p.stream(20, 1, 1, 2, 0, "prefetch");
  EXPECT_THAT(distinctStreamNames(p.trace), ElementsAre("stream 7", "stream 13", "prefetch"));
}

TEST(PlaceNames, StreamsOfOneNumberAreToldApartByWhatDiffers) {
  Places devices;
  devices.stream(7, 0, 0, 0);
  devices.stream(7, 1, 0, 1);
  EXPECT_THAT(distinctStreamNames(devices.trace),
              ElementsAre("stream 7 (device 0)", "stream 7 (device 1)"));
  EXPECT_THAT(distinctStreamNames(devices.trace, true), ElementsAre("stream 7", "stream 7"))
      << "the device is said beside them";
  Places processes;
  processes.stream(7, 0, 0, 0);
  processes.stream(7, 0, 1, 0);
  processes.stream(7, 1, 1, 0);
  EXPECT_THAT(distinctStreamNames(processes.trace),
              ElementsAre("stream 7 (device 0, pid 40)", "stream 7 (device 0, pid 41)",
                          "stream 7 (device 1)"));
  Places others;
  others.stream(7, 0, 0, 0);
  others.stream(7, 0, 0, 1);
  others.stream(9, 0, 0, 0, 0xab);
  others.stream(9, 0, 0, 0, 0xcd);
  others.stream(11, 0, 0, 0);
  others.stream(11, 0, 0, 0);
  EXPECT_THAT(distinctStreamNames(others.trace, true),
              ElementsAre("stream 7 (context 0)", "stream 7 (context 1)", "stream 9 (0xab)",
                          "stream 9 (0xcd)", "stream 11 (#1)", "stream 11 (#2)"));
}

}  // namespace
}  // namespace tracesmith
