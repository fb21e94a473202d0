// SPDX-License-Identifier: Apache-2.0
// Device times in host time: each lies where the host saw it happen, within the error bound that
// the file gives for it.
#include <map>

#include "recording_test_util.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/clock_map.hpp"

namespace tracesmith {
namespace {

constexpr const char* kOclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

class ClockTest : public RecordingTest {
 protected:
  /// Records `command` on a driver ("": the system's) and reads it with the stamps as they came.
  Trace recordRaw(const std::string& driver_file, const std::vector<std::string>& command) {
    SpawnOptions o;
    o.output = path("said");
    if (!driver_file.empty()) o.environment = {"OCL_ICD_VENDORS=" + driver_file};
    EXPECT_EQ(run(driver({}, command), o).exit_code, 0);
    auto reader = TraceReader::open(path("out.sbt"));
    if (!reader) {
      ADD_FAILURE() << reader.error().toString();
      return {};
    }
    auto trace = reader->read({.convert_clocks = false});
    if (!trace) {
      ADD_FAILURE() << trace.error().toString();
      return {};
    }
    return std::move(*trace);
  }

  static ClockKind clockOf(const Trace& t, size_t device) {
    const ClockDomainId domain = t.device.clock_domain_id[device];
    return domain == ClockDomainId::kNone ? ClockKind::kHostMonotonic
                                          : t.clock_domain.kind[indexOf(domain)];
  }

  /// Checks every device-side row that has stamps; returns how many that were.
  static size_t expectInsideTheirBrackets(const Trace& t);
};

/// What the host knows of a command: when its call began and ended, and when it was seen complete.
struct Bracket {
  int64_t call_start = 0, call_end = 0, complete = INT64_MAX;
};

/// By (process, correlation id). The queues of the test program work in order, so whatever was
/// enqueued before a wait for the queue, or before a blocking copy, is complete after it.
std::map<std::pair<ProcessId, uint64_t>, Bracket> brackets(const Trace& t) {
  std::map<std::pair<ProcessId, uint64_t>, Bracket> out;
  std::map<StreamId, std::map<int64_t, int64_t>> waits;  // start of the wait: its end
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    const HostCallRow call = t.host_call.row(i);
    out[{call.process_id, call.correlation_id}] = {call.start_ns, call.start_ns + call.duration_ns};
  }
  auto blocking = [&](const auto& row) {
    Bracket& b = out[{row.process_id, row.correlation_id}];
    waits[row.stream_id][b.call_start] = b.call_end;
    if (row.flags & op_flags::kBlocking) b.complete = b.call_end;
  };
  for (size_t i = 0; i < t.sync.size(); ++i) {
    const SyncRow row = t.sync.row(i);
    if (row.kind == SyncKind::kStreamWait) blocking(row);
  }
  for (size_t i = 0; i < t.copy.size(); ++i) {
    const CopyRow row = t.copy.row(i);
    if (row.flags & op_flags::kBlocking) blocking(row);
  }
  auto complete = [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      Bracket& b = out[{table.process_id[i], table.correlation_id[i]}];
      const auto& of_stream = waits[table.stream_id[i]];
      auto wait = of_stream.lower_bound(b.call_end);
      if (wait != of_stream.end()) b.complete = std::min(b.complete, wait->second);
    }
  };
  complete(t.kernel);
  complete(t.copy);
  complete(t.fill);
  complete(t.sync);
  return out;
}

size_t ClockTest::expectInsideTheirBrackets(const Trace& t) {
  const ClockMap clocks(t);
  const auto host = brackets(t);
  // The host's stamps are readings of the processor's counter; so they have a bound as well.
  int64_t stamp_error = 0;
  for (size_t i = 0; i < t.clock_snapshot.size(); ++i) {
    const ClockDomainId domain = t.clock_snapshot.domain_id[i];
    if (t.clock_domain.kind[indexOf(domain)] == ClockKind::kTimeStampCounter) {
      stamp_error = std::max(stamp_error, t.clock_snapshot.error_ns[i]);
    }
  }
  size_t checked = 0;
  size_t with_end = 0;
  auto check = [&](const auto& table, const char* what) {
    for (size_t i = 0; i < table.size(); ++i) {
      if ((table.flags[i] & op_flags::kDeviceClock) == 0) continue;
      const auto it = host.find({table.process_id[i], table.correlation_id[i]});
      ASSERT_NE(it, host.end()) << what << " without a host call";
      const Bracket& b = it->second;
      const DeviceId device = t.deviceOf(table.stream_id[i]);
      ASSERT_NE(device, DeviceId::kNone);
      const ClockDomainId domain = t.device.clock_domain_id[indexOf(device)];
      const HostTime queued = clocks.toHost(domain, table.start_ns[i] - table.queued_before_ns[i]);
      const HostTime started = clocks.toHost(domain, table.start_ns[i]);
      const HostTime ended = clocks.toHost(domain, table.start_ns[i] + table.duration_ns[i]);
      const int64_t error =
          std::max({queued.error_ns, started.error_ns, ended.error_ns}) + stamp_error;
      // A bound that bounds nothing would let everything pass.
      ASSERT_LT(error, 100'000) << what << ' ' << i;
      if (table.flags[i] & op_flags::kQueueTimes) {
        EXPECT_GE(queued.ns, b.call_start - error) << what << ' ' << i;
        EXPECT_LE(queued.ns, b.call_end + error) << what << ' ' << i;
      }
      EXPECT_GE(started.ns, b.call_start - error) << what << ' ' << i;
      if (b.complete != INT64_MAX) {
        EXPECT_LE(ended.ns, b.complete + error) << what << ' ' << i;
        ++with_end;
      }
      ++checked;
    }
  };
  check(t.kernel, "kernel");
  check(t.copy, "copy");
  check(t.fill, "fill");
  check(t.sync, "sync");
  EXPECT_GT(with_end, checked * 9 / 10) << "too few commands were seen complete";
  return checked;
}

TEST_F(ClockTest, EveryDeviceIntervalLiesInsideItsHostBracket) {
  const Trace t = recordRaw("", {helper("cl_mix"), path("made"), "2", "100"});
  EXPECT_GT(expectInsideTheirBrackets(t), 400u);
}

TEST_F(ClockTest, EveryDeviceIntervalLiesInsideItsHostBracketOnOclgrind) {
  if (readFile(kOclgrind).empty()) GTEST_SKIP() << kOclgrind << " is not installed";
  const Trace t = recordRaw(kOclgrind, {helper("cl_first_launch")});
  EXPECT_EQ(expectInsideTheirBrackets(t), 12u);
}

TEST_F(ClockTest, TheClockOfPoclIsFound) {
  const Trace t = recordRaw("", {helper("cl_first_launch")});
  ASSERT_EQ(t.device.size(), 1u);
  if (t.text(t.device.platform[0]) != "Portable Computing Language") GTEST_SKIP() << "not PoCL";
  // Soon after the start of a machine the two clocks are the same, and either may be named.
  const int64_t apart = clockNs(CLOCK_MONOTONIC) - clockNs(CLOCK_MONOTONIC_RAW);
  const ClockKind found = clockOf(t, 0);
  if (std::abs(apart) > 1'000'000) {
    EXPECT_EQ(found, ClockKind::kHostMonotonicRaw) << toString(found);
  } else {
    EXPECT_TRUE(found == ClockKind::kHostMonotonicRaw || found == ClockKind::kHostMonotonic)
        << toString(found);
  }
}

TEST_F(ClockTest, TheClockOfOclgrindIsFound) {
  if (readFile(kOclgrind).empty()) GTEST_SKIP() << kOclgrind << " is not installed";
  const Trace t = recordRaw(kOclgrind, {helper("cl_first_launch")});
  ASSERT_EQ(t.device.size(), 1u);
  EXPECT_EQ(t.text(t.device.platform[0]), "Oclgrind");
  EXPECT_EQ(clockOf(t, 0), ClockKind::kHostRealtime) << toString(clockOf(t, 0));
}

}  // namespace
}  // namespace tracesmith
