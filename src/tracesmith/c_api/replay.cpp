// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/c_api/guarded.hpp"
#include "tracesmith/replay/replay_engine.hpp"

using namespace tracesmith;
using namespace tracesmith::c_api;

struct tracesmith_replay_result {
  ReplayResult result;
  std::string summary;
};

namespace {

Result<ReplayConfig> configOf(const tracesmith_replay_options& options) {
  ReplayConfig config;
  switch (options.mode) {
    case TRACESMITH_REPLAY_FULL:
      config.mode = ReplayMode::Full;
      break;
    case TRACESMITH_REPLAY_PARTIAL:
      config.mode = ReplayMode::Partial;
      break;
    case TRACESMITH_REPLAY_DRY_RUN:
      config.mode = ReplayMode::DryRun;
      break;
    case TRACESMITH_REPLAY_STREAM:
      config.mode = ReplayMode::StreamSpecific;
      config.stream_id = options.stream_id;
      break;
    default:
      return fail(ErrorCode::kInvalidArgument, "there is no such replay mode",
                  "mode " + std::to_string(options.mode));
  }
  switch (options.scheduling) {
    case TRACESMITH_ORIGINAL_TIMING:
      config.scheduling = SchedulingPolicy::OriginalTiming;
      break;
    case TRACESMITH_ROUND_ROBIN:
      config.scheduling = SchedulingPolicy::RoundRobin;
      break;
    case TRACESMITH_PRIORITY:
      config.scheduling = SchedulingPolicy::Priority;
      break;
    default:
      return fail(ErrorCode::kInvalidArgument, "there is no such scheduling",
                  "scheduling " + std::to_string(options.scheduling));
  }
  constexpr uint32_t kFlags = TRACESMITH_REPLAY_CHECKSUMS * 2 - 1;
  if ((options.flags & ~kFlags) != 0) {
    return fail(ErrorCode::kUnsupported, "this version of the library does not have these flags",
                "flags " + std::to_string(options.flags));
  }
  if (options.flags & TRACESMITH_REPLAY_START_TIME) config.start_time = options.start_time;
  if (options.flags & TRACESMITH_REPLAY_END_TIME) config.end_time = options.end_time;
  if (options.flags & TRACESMITH_REPLAY_START_OPERATION) {
    config.start_operation_id = options.start_operation;
  }
  if (options.flags & TRACESMITH_REPLAY_END_OPERATION) {
    config.end_operation_id = options.end_operation;
  }
  config.compute_checksums = (options.flags & TRACESMITH_REPLAY_CHECKSUMS) != 0;
  config.time_scale = options.time_scale;
  if (!(options.step_limit_s >= 0 && options.step_limit_s < 1e9)) {
    return fail(ErrorCode::kInvalidArgument, "it must be a duration in s", "step_limit_s");
  }
  if (options.step_limit_s != 0) config.step_limit_s = options.step_limit_s;
  if (options.device != nullptr) config.device = options.device;
  return config;
}

}  // namespace

tracesmith_status tracesmith_replay(const char* path, const tracesmith_replay_options* options,
                                    tracesmith_replay_result** result) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(result);
    *result = nullptr;
    TS_NOT_NULL(path);
    TS_TRY(const tracesmith_replay_options taken, take(options));
    TS_TRY(const ReplayConfig config, configOf(taken));
    ReplayEngine engine;
    TS_CHECK_OK(engine.loadTrace(path));
    auto made = std::make_unique<tracesmith_replay_result>();
    made->result = engine.replay(config);
    made->summary = made->result.summary();
    *result = made.release();
    return {};
  });
}

tracesmith_status tracesmith_replay_get_info(const tracesmith_replay_result* result,
                                             tracesmith_replay_info* info) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(result);
    const ReplayResult& of = result->result;
    tracesmith_replay_info known{};
    known.success = of.success ? 1 : 0;
    known.deterministic = of.deterministic ? 1 : 0;
    known.simulated = of.simulated ? 1 : 0;
    known.total = of.operations_total;
    known.executed = of.operations_executed;
    known.simulated_operations = of.operations_simulated;
    known.skipped = of.operations_skipped;
    known.failed = of.operations_failed;
    known.duration_ns = of.replay_duration;
    known.original_duration_ns = of.original_duration;
    known.read_backs = of.read_backs;
    known.read_backs_equal = of.read_backs_equal;
    known.launches_hashed = of.launches_hashed;
    known.launches_equal = of.launches_equal;
    known.errors = of.errors.size();
    known.device = of.device.c_str();
    known.summary = result->summary.c_str();
    return give(info, known);
  });
}

const char* tracesmith_replay_error(const tracesmith_replay_result* result, size_t index) {
  if (result == nullptr || index >= result->result.errors.size()) return nullptr;
  return result->result.errors[index].c_str();
}

void tracesmith_replay_free(tracesmith_replay_result* result) { delete result; }

tracesmith_status tracesmith_replay_get_facts(const tracesmith_replay_result* result,
                                              tracesmith_replay_info* info) {
  return tracesmith_replay_get_info(result, info);
}
