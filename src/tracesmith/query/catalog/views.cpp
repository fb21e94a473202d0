// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/catalog/views.hpp"

#include <string>

namespace tracesmith {
namespace {

constexpr ViewColumn kKernelSummary[] = {
    {"name", "TEXT", "kernel name"},
    {"launches", "INTEGER", "how often it ran"},
    {"total_ns", "INTEGER", "sum of the durations"},
    {"mean_ns", "REAL", "total_ns / launches"},
    {"min_ns", "INTEGER", "shortest"},
    {"max_ns", "INTEGER", "longest"},
    {"percent", "REAL", "of the durations of all kernels"},
};
constexpr ViewColumn kCopySummary[] = {
    {"kind", "TEXT", "direction"},
    {"copies", "INTEGER", "how many"},
    {"bytes", "INTEGER", "sum of the sizes"},
    {"total_ns", "INTEGER", "sum of the durations"},
    {"gb_per_s", "REAL", "bytes / total_ns; 1 GB is 10^9 bytes"},
};
constexpr ViewColumn kStreamSummary[] = {
    {"stream_id", "INTEGER", "its id in this trace"},
    {"stream", "INTEGER", "its number in the program"},
    {"name", "TEXT", "its name, if the program gave one"},
    {"device_id", "INTEGER", "its device"},
    {"process_id", "INTEGER", "its process"},
    {"kernels", "INTEGER", "kernels that ran in it"},
    {"copies", "INTEGER", "copies"},
    {"fills", "INTEGER", "fills"},
    {"work_ns", "INTEGER", "sum of their durations; overlapping work counts each time"},
    {"first_ns", "INTEGER", "start of the first"},
    {"last_ns", "INTEGER", "end of the last"},
};
constexpr ViewColumn kHostCallSummary[] = {
    {"name", "TEXT", "API function"},
    {"calls", "INTEGER", "how often it was called"},
    {"total_ns", "INTEGER", "sum of the durations"},
    {"mean_ns", "REAL", "total_ns / calls"},
    {"max_ns", "INTEGER", "longest"},
    {"failed", "INTEGER", "calls whose result is not 0"},
};
constexpr ViewColumn kRangeSummary[] = {
    {"name", "TEXT", "name"},
    {"category", "TEXT", "category or domain"},
    {"ranges", "INTEGER", "number of ranges, without instants"},
    {"total_ns", "INTEGER", "sum of the durations; nested ranges count each time"},
    {"mean_ns", "REAL", "total_ns / ranges"},
    {"max_ns", "INTEGER", "longest"},
};
constexpr ViewColumn kMemorySummary[] = {
    {"process_id", "INTEGER", "process"},
    {"device_id", "INTEGER", "device, if the API ties memory to one"},
    {"kind", "TEXT", "alloc or free"},
    {"events", "INTEGER", "how many"},
    {"bytes", "INTEGER", "sum of the sizes"},
};
constexpr ViewColumn kLaunch[] = {
    {"correlation_id", "INTEGER", "links the call and the kernel, within a process"},
    {"process_id", "INTEGER", "process"},
    {"thread_id", "INTEGER", "thread that called"},
    {"call", "TEXT", "API function"},
    {"call_start_ns", "INTEGER", "start of the call"},
    {"call_duration_ns", "INTEGER", "how long it took"},
    {"kernel", "TEXT", "kernel name"},
    {"stream_id", "INTEGER", "stream it ran in"},
    {"stream", "INTEGER", "its number in the program"},
    {"kernel_start_ns", "INTEGER", "start on the device"},
    {"kernel_duration_ns", "INTEGER", "how long it ran"},
    {"latency_ns", "INTEGER", "kernel_start_ns - call_start_ns"},
    {"wait_ns", "INTEGER", "kernel_start_ns - end of the call; negative: it started earlier"},
};
constexpr ViewColumn kCounterSample[] = {
    {"time_ns", "INTEGER", "host time"},
    {"name", "TEXT", "name of the counter"},
    {"unit", "TEXT", "its unit"},
    {"value", "REAL", "value from this time on"},
    {"process_id", "INTEGER", "process, if it belongs to one"},
    {"device_id", "INTEGER", "device, if it belongs to one"},
    {"thread_id", "INTEGER", "thread, if it belongs to one"},
};

constexpr View kViews[] = {
    {"kernel_summary", "time by kernel, the longest first",
     "SELECT name, count(*) AS launches, sum(duration_ns) AS total_ns, avg(duration_ns) AS mean_ns,"
     " min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, 100.0 * sum(duration_ns) /"
     " (SELECT sum(duration_ns) FROM kernel) AS percent"
     " FROM kernel GROUP BY name ORDER BY total_ns DESC",
     kKernelSummary},
    {"copy_summary", "bytes, time and bandwidth by direction of copy",
     "SELECT kind, count(*) AS copies, sum(bytes) AS bytes, sum(duration_ns) AS total_ns,"
     " 1.0 * sum(bytes) / nullif(sum(duration_ns), 0) AS gb_per_s FROM copy GROUP BY kind",
     kCopySummary},
    {"stream_summary", "work of each stream",
     "SELECT s.id AS stream_id, s.ordinal AS stream, s.name, s.device_id, s.process_id,"
     " coalesce(w.kernels, 0) AS kernels, coalesce(w.copies, 0) AS copies,"
     " coalesce(w.fills, 0) AS fills, w.work_ns, w.first_ns, w.last_ns FROM stream s LEFT JOIN"
     " (SELECT stream_id, sum(kind = 'kernel') AS kernels, sum(kind = 'copy') AS copies,"
     " sum(kind = 'fill') AS fills, sum(duration_ns) AS work_ns, min(start_ns) AS first_ns,"
     " max(end_ns) AS last_ns FROM span WHERE kind IN ('kernel', 'copy', 'fill')"
     " GROUP BY stream_id) w ON w.stream_id = s.id",
     kStreamSummary},
    {"host_call_summary", "time by API function, the longest first",
     "SELECT name, count(*) AS calls, sum(duration_ns) AS total_ns, avg(duration_ns) AS mean_ns,"
     " max(duration_ns) AS max_ns, sum(result <> 0) AS failed"
     " FROM host_call GROUP BY name ORDER BY total_ns DESC",
     kHostCallSummary},
    {"range_summary", "time by marked range, the longest first",
     "SELECT name, category, count(*) AS ranges, sum(duration_ns) AS total_ns,"
     " avg(duration_ns) AS mean_ns, max(duration_ns) AS max_ns"
     " FROM range WHERE kind = 'range' GROUP BY name, category ORDER BY total_ns DESC",
     kRangeSummary},
    {"memory_summary", "allocations and frees by process and device",
     "SELECT process_id, device_id, kind, count(*) AS events, sum(bytes) AS bytes"
     " FROM memory_event GROUP BY process_id, device_id, kind",
     kMemorySummary},
    {"launch", "each launch with its kernel, and the time until that started",
     "SELECT k.correlation_id, k.process_id, h.thread_id, h.name AS call,"
     " h.start_ns AS call_start_ns, h.duration_ns AS call_duration_ns, k.name AS kernel,"
     " k.stream_id, s.ordinal AS stream, k.start_ns AS kernel_start_ns, k.duration_ns AS "
     "kernel_duration_ns,"
     " k.start_ns - h.start_ns AS latency_ns, k.start_ns - h.end_ns AS wait_ns"
     " FROM kernel k JOIN host_call h"
     " ON h.correlation_id = k.correlation_id AND h.process_id IS k.process_id"
     " LEFT JOIN stream s ON s.id = k.stream_id",
     kLaunch},
    {"counter_sample", "samples of counters with the counter's name and unit",
     "SELECT c.time_ns, t.name, t.unit, c.value, t.process_id, t.device_id, t.thread_id"
     " FROM counter c LEFT JOIN counter_track t ON t.id = c.track_id",
     kCounterSample},
};

}  // namespace

std::span<const View> views() { return kViews; }

const View* findView(std::string_view name) {
  for (const View& view : kViews) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

Status registerViews(sqlite3* db) {
  for (const View& view : kViews) {
    const std::string sql = std::string("CREATE VIEW ") + view.name + " AS " + view.select;
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return fail(ErrorCode::kInternal, sqlite3_errmsg(db), view.name);
    }
  }
  return {};
}

}  // namespace tracesmith
