// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/column_rules.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "tracesmith/model/track_groups.hpp"

namespace tracesmith::query_rules {
namespace {

bool oneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr FlagColumn kKernelFlags[] = {
    {"first_launch", op_flags::kFirstLaunch, "1: carries the kernel's just-in-time compile"},
    {"failed", op_flags::kFailed, "1: the device reported an error for it"},
    {"synthetic", op_flags::kSynthetic, "1: made up by the simulation, never measured"},
};
constexpr FlagColumn kCopyFlags[] = {
    {"blocking", op_flags::kBlocking, "1: the host call waited for it"},
    {"failed", op_flags::kFailed, "1: the device reported an error for it"},
    {"synthetic", op_flags::kSynthetic, "1: made up by the simulation, never measured"},
};
constexpr FlagColumn kSyncFlags[] = {
    {"host_side", op_flags::kHostSide, "1: the host waited; 0: a command of the device"},
    {"failed", op_flags::kFailed, "1: the device reported an error for it"},
    {"synthetic", op_flags::kSynthetic, "1: made up by the simulation, never measured"},
};
constexpr FlagColumn kCallFlags[] = {
    {"blocking", op_flags::kBlocking, "1: it waited for the work it started"},
    {"synthetic", op_flags::kSynthetic, "1: made up by the simulation, never measured"},
};
constexpr FlagColumn kProcessFlags[] = {
    {"agent", process_flags::kAgent, "1: an agent of ours ran in it"},
    {"unobserved", process_flags::kUnobserved, "1: may have used a GPU unseen"},
    {"still_running", process_flags::kStillRunning, "1: outlived the recording"},
    {"forked_child", process_flags::kForkedChild, "1: a fork that never called exec"},
    {"signalled", process_flags::kSignalled, "1: exit_code is the signal that ended it"},
    {"is_root", process_flags::kRoot, "1: the command that was profiled"},
    {"track_group", process_flags::kTrackGroup,
     "1: no process, but a group of tracks that the source draws as one"},
};
constexpr FlagColumn kStreamFlags[] = {
    {"out_of_order", stream_flags::kOutOfOrder, "1: commands may overtake each other"},
    {"application_profiling", stream_flags::kApplicationProfiling,
     "1: the program profiles it too"},
    {"is_default", stream_flags::kDefault, "1: the default stream"},
};
constexpr FlagColumn kFrameFlags[] = {
    {"exact", frame_flags::kExact, "1: the address is that of an instruction; 0: it returns there"},
    {"guessed", frame_flags::kGuessed, "1: found by frame pointer, not by unwind rules"},
    {"truncated_below", frame_flags::kTruncatedBelow, "1: its callers are not known"},
};

template <size_t N>
FlagColumns all(const FlagColumn (&columns)[N]) {
  return {columns, N};
}

}  // namespace

const char* meaningOf(TableId table) {
  switch (table) {
    case TableId::kKernel:
      return "kernels, as the device ran them";
    case TableId::kCopy:
      return "copies, maps and unmaps, as the device ran them";
    case TableId::kFill:
      return "fills (memset), as the device ran them";
    case TableId::kSync:
      return "markers and barriers of the device, and waits of the host (host_side = 1)";
    case TableId::kHostCall:
      return "calls of the GPU's API, as threads made them";
    case TableId::kMemoryEvent:
      return "allocations and frees";
    case TableId::kFlow:
      return "what waited for what, by correlation id";
    case TableId::kFlowEvent:
      return "arrows as their source drew them, end by end";
    case TableId::kProgramBuild:
      return "compilations of device programs";
    case TableId::kCounter:
      return "samples of counters";
    case TableId::kRange:
      return "ranges and instants that the program marked";
    case TableId::kAttribute:
      return "whatever else a source said of a row (row_number is the rowid of table_name)";
    case TableId::kMetadata:
      return "what the trace says of itself";
    case TableId::kProcess:
      return "processes";
    case TableId::kThread:
      return "threads";
    case TableId::kDevice:
      return "devices and their properties";
    case TableId::kContext:
      return "contexts";
    case TableId::kStream:
      return "streams (queues)";
    case TableId::kLaunchShape:
      return "launch shapes, each once";
    case TableId::kCallPath:
      return "host call stacks as a tree: each row adds a frame to its parent";
    case TableId::kFrame:
      return "frames of call stacks";
    case TableId::kSymbol:
      return "names of frames: functions inlined at an address, and the function that has it";
    case TableId::kModule:
      return "executables and libraries that frames lie in";
    case TableId::kClockDomain:
      return "clocks other than the host's";
    case TableId::kClockSnapshot:
      return "pairs of host time and a clock's value";
    case TableId::kCounterTrack:
      return "names and units of counters";
    case TableId::kLoss:
      return "events counted and lost, per source";
    case TableId::kObject:
      return "API objects by handle";
    default:
      return nullptr;  // string (shown as text), commit marks and pending work
  }
}

bool zeroIsNull(TableId table, std::string_view column) {
  switch (table) {
    case TableId::kDevice:
      // Values that a driver does not report are 0. But 0 is a valid ordinal and minor version.
      return !oneOf(column, {"ordinal", "compute_minor"});
    case TableId::kProcess:
      return !oneOf(column, {"exit_code", "flags"});
    case TableId::kContext:
    case TableId::kStream:
      return oneOf(column, {"handle", "created_ns", "released_ns"});
    case TableId::kObject:
      return oneOf(column, {"handle", "parent", "created_ns", "created_stamp", "id"});
    case TableId::kFrame:
      return oneOf(column, {"address", "line", "module_offset"});
    case TableId::kSymbol:
      return column == "line";
    case TableId::kLoss:
    case TableId::kClockSnapshot:
      return false;
    default:
      return oneOf(column, {"source", "destination", "address", "program", "handle", "flow_id",
                            "correlation_id", "from_correlation_id", "to_correlation_id", "tid"});
  }
}

bool isReference(std::string_view column) {
  return oneOf(column, {"start_ns", "time_ns", "correlation_id", "from_correlation_id",
                        "to_correlation_id", "row_number", "address", "handle", "pid", "tid",
                        "duration_ns", "host_ns", "created_ns"});
}

int rankOf(std::string_view column) {
  constexpr std::string_view kFirst[] = {
      "id",          "name",      "backend",    "kind",       "key",         "table_name",
      "row_number",  "value",     "start_ns",   "time_ns",    "duration_ns", "end_ns",
      "process_id",  "pid",       "parent_pid", "thread_id",  "tid",         "command_line",
      "executable",  "exit_code", "device_id",  "context_id", "stream_id",   "correlation_id",
      "call_path_id"};
  const auto* it = std::find(std::begin(kFirst), std::end(kFirst), column);
  return static_cast<int>(it - std::begin(kFirst));
}

std::string_view sqlName(TableId table, std::string_view column) {
  if (table == TableId::kAttribute && column == "table") return "table_name";
  return column;
}

std::string_view idAlias(TableId table) {
  switch (table) {
    case TableId::kProcess:
      return "process_id";
    case TableId::kThread:
      return "thread_id";
    case TableId::kDevice:
      return "device_id";
    case TableId::kContext:
      return "context_id";
    case TableId::kStream:
      return "stream_id";
    case TableId::kClockDomain:
      return "clock_domain_id";
    case TableId::kLaunchShape:
      return "shape_id";
    case TableId::kCallPath:
      return "call_path_id";
    case TableId::kFrame:
      return "frame_id";
    case TableId::kCounterTrack:
      return "track_id";
    default:
      return {};
  }
}

FlagColumns flagColumns(TableId table) {
  switch (table) {
    case TableId::kKernel:
      return all(kKernelFlags);
    case TableId::kCopy:
    case TableId::kFill:
      return all(kCopyFlags);
    case TableId::kSync:
      return all(kSyncFlags);
    case TableId::kHostCall:
      return all(kCallFlags);
    case TableId::kProcess:
      return all(kProcessFlags);
    case TableId::kStream:
      return all(kStreamFlags);
    case TableId::kFrame:
      return all(kFrameFlags);
    default:
      return {nullptr, 0};
  }
}

}  // namespace tracesmith::query_rules
