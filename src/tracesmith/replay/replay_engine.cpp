// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/replay_engine.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/replay_source.hpp"
#include "tracesmith/replay/run/replay_child.hpp"
#include "tracesmith/replay/simulate/simulated_executor.hpp"
#include "tracesmith/replay/simulate/simulated_trace.hpp"
#include "tracesmith/replay/stream_operations.hpp"
#include "tracesmith/replay/stream_scheduler.hpp"

namespace tracesmith {

namespace {

constexpr std::string_view kSimulated = "simulated";

/// Reads a whole trace, of TraceSmith or another tool. Unreadable parts are reported in `warnings`.
Result<Trace> readTrace(const std::string& path, std::vector<std::string>& warnings) {
  import::ImportCounts counts;
  TS_TRY(TraceReader reader, import::openTrace(path, counts));
  TS_TRY(Trace trace, reader.read({}));
  for (const import::SourceDamage& damage : counts.damage) warnings.push_back(damage.reason);
  for (const DataLoss& loss : reader.losses()) warnings.push_back(loss.reason);
  if (!reader.complete()) warnings.push_back(path + " is incomplete; the existing part was read");
  return trace;
}

/// Returns ids in an order of the policy. Dependencies not among `operations` count as completed.
Result<std::vector<uint64_t>> scheduled(const std::vector<const StreamOperation*>& operations,
                                        SchedulingPolicy policy) {
  StreamScheduler scheduler(policy);
  std::unordered_set<uint64_t> ids;
  for (const StreamOperation* op : operations) ids.insert(op->operation_id);
  for (const StreamOperation* op : operations) {
    StreamOperation light;  // the scheduler needs only the time of an event
    light.operation_id = op->operation_id;
    light.device_id = op->device_id;
    light.stream_id = op->stream_id;
    light.out_of_order = op->out_of_order;
    light.priority = op->priority;
    light.event.timestamp = op->event.timestamp;
    for (const uint64_t id : op->depends_on) {
      if (ids.contains(id)) light.depends_on.push_back(id);
    }
    TS_CHECK_OK(scheduler.addOperation(std::move(light)));
  }
  TS_CHECK_OK(scheduler.check());
  std::vector<uint64_t> order;
  order.reserve(operations.size());
  while (const StreamOperation* op = scheduler.getNextOperation()) {
    order.push_back(op->operation_id);
    scheduler.markCompleted(op->operation_id);
  }
  return order;
}

Timestamp timestampOf(int64_t ns) { return static_cast<Timestamp>(std::max<int64_t>(ns, 0)); }

}  // namespace

struct ReplayEngine::Impl {
  std::optional<ReplaySource> source;
  std::string path;
  std::optional<Trace> trace;  // set if there is no recording
  TraceOperations of_trace;    // except its operations, which are in `operations`
  std::vector<StreamOperation> operations;
  std::vector<std::string> load_warnings;
  DeterminismChecker checker;

  void setTrace(Trace loaded);
  bool isDeviceWork(const StreamOperation& op) const {
    return source || !of_trace.host_wait[op.operation_id];
  }
  size_t deviceOperations() const {
    return static_cast<size_t>(std::count_if(operations.begin(), operations.end(),
                                             [&](const auto& op) { return isDeviceWork(op); }));
  }

  Status check(const ReplayConfig& config) const;
  std::vector<const StreamOperation*> chosen(const ReplayConfig& config) const;
  std::vector<const StreamOperation*> all() const;
  void replayed(const StreamOperation& op, std::optional<int64_t> begin_ns, int64_t end_ns);
  void skipped(const StreamOperation& op);
  void validate(const ReplayConfig& config, ReplayResult& result) const;

  Status dryRun(const ReplayConfig& config, ReplayResult& result);
  Status replayRecording(const ReplayConfig& config, ReplayResult& result);
  Result<RunSettings> settingsOf(const ReplayConfig& config) const;
  void takeRun(const RunSettings& settings, const RunResult& run, const PlanSimulation* simulation,
               ReplayResult& result);
  StepDurations durations(std::vector<std::string>& warnings) const;
  Status simulateTrace(const ReplayConfig& config, ReplayResult& result);
  Status emulateTrace(ReplayResult& result);
};

void ReplayEngine::Impl::setTrace(Trace loaded) {
  trace = std::move(loaded);
  of_trace = operationsOf(*trace);
  operations = std::move(of_trace.operations);
  if (of_trace.left_out == 0) return;
  load_warnings.push_back(fmt::format(
      "{} dependencies contradict the recorded times and are left out", of_trace.left_out));
}

Status ReplayEngine::Impl::check(const ReplayConfig& config) const {
  if (!source && !trace) return fail(ErrorCode::kInvalidArgument, "nothing is loaded");
  if (!source && deviceOperations() == 0) {
    return fail(ErrorCode::kUnsupported, "there is neither a recording nor device work");
  }
  const bool bounded =
      config.start_time || config.end_time || config.start_operation_id || config.end_operation_id;
  if (config.mode == ReplayMode::Partial && !bounded) {
    return fail(ErrorCode::kInvalidArgument, "Partial needs start_… or end_… to select operations");
  }
  if (config.mode == ReplayMode::StreamSpecific && !config.stream_id) {
    return fail(ErrorCode::kInvalidArgument, "StreamSpecific needs stream_id to select the stream");
  }
  if (!std::isfinite(config.time_scale) || config.time_scale < 0) {
    return fail(ErrorCode::kInvalidArgument, "time_scale must be a number of at least 0");
  }
  const bool part = config.mode == ReplayMode::Partial || config.mode == ReplayMode::StreamSpecific;
  if (part && chosen(config).empty()) {
    return fail(ErrorCode::kNotFound, "the selection contains no operation");
  }
  return {};
}

std::vector<const StreamOperation*> ReplayEngine::Impl::all() const {
  std::vector<const StreamOperation*> out;
  for (const StreamOperation& op : operations) out.push_back(&op);
  return out;
}

std::vector<const StreamOperation*> ReplayEngine::Impl::chosen(const ReplayConfig& config) const {
  Timestamp begin = UINT64_MAX;
  for (const StreamOperation& op : operations) begin = std::min(begin, op.event.timestamp);
  if (source && !source->plan.steps().empty()) {
    begin = timestampOf(source->plan.step(0).header.start_ns);
  }
  std::vector<const StreamOperation*> out;
  for (const StreamOperation& op : operations) {
    const Timestamp at = op.event.timestamp - std::min(begin, op.event.timestamp);
    bool is_in = true;
    if (config.mode == ReplayMode::StreamSpecific) {
      is_in = isDeviceWork(op) && op.stream_id == config.stream_id;
    } else if (config.mode == ReplayMode::Partial) {
      is_in = (!config.start_time || at >= *config.start_time) &&
              (!config.end_time || at <= *config.end_time) &&
              (!config.start_operation_id || op.operation_id >= *config.start_operation_id) &&
              (!config.end_operation_id || op.operation_id <= *config.end_operation_id);
    }
    if (is_in) out.push_back(&op);
  }
  return out;
}

void ReplayEngine::Impl::replayed(const StreamOperation& op, std::optional<int64_t> begin_ns,
                                  int64_t end_ns) {
  StreamOperation as_replayed;
  as_replayed.operation_id = op.operation_id;
  if (begin_ns) {
    as_replayed.begin_time = timestampOf(*begin_ns);
    as_replayed.execution_time = timestampOf(lengthOf(*begin_ns, end_ns));
  }
  checker.recordReplayed(as_replayed);
}

void ReplayEngine::Impl::skipped(const StreamOperation& op) {
  StreamOperation left_out;
  left_out.operation_id = op.operation_id;
  left_out.skipped = true;
  checker.recordReplayed(left_out);
}

void ReplayEngine::Impl::validate(const ReplayConfig& config, ReplayResult& result) const {
  const DeterminismChecker::Violations v = checker.getViolations();
  if (config.validate_order) result.order_violations = v.order_violations;
  if (config.validate_dependencies) result.dependency_violations = v.dependency_violations;
  if (config.validate_timing && result.simulated) result.timing_violations = v.timing_violations;
  if (config.validate_timing && !result.simulated) {
    result.warnings.push_back(
        "timing was not validated: the start times of operations are unknown");
  }
  if (result.order_violations + result.dependency_violations + result.timing_violations != 0) {
    result.errors.push_back("the order is not legal: " + checker.getReport());
  }
}

Status ReplayEngine::Impl::dryRun(const ReplayConfig& config, ReplayResult& result) {
  const auto wanted = chosen(config);
  TS_TRY(const std::vector<uint64_t> order, scheduled(wanted, config.scheduling));
  std::unordered_map<uint64_t, const StreamOperation*> by_id;
  for (const StreamOperation* op : wanted) by_id.emplace(op->operation_id, op);
  for (const uint64_t id : order) replayed(*by_id.at(id), std::nullopt, 0);
  for (const StreamOperation& op : operations) {
    if (!by_id.contains(op.operation_id)) skipped(op);
  }
  result.operations_total = result.operations_skipped = operations.size();
  return {};
}

Result<RunSettings> ReplayEngine::Impl::settingsOf(const ReplayConfig& config) const {
  RunSettings run;
  run.hash_launches = config.compute_checksums;
  if (config.mode != ReplayMode::Full) {
    run.steps.resize(source->plan.steps().size());
    for (const StreamOperation* op : chosen(config)) run.steps[op->operation_id] = true;
  }
  if (config.scheduling != SchedulingPolicy::OriginalTiming) {
    TS_TRY(const std::vector<uint64_t> order, scheduled(all(), config.scheduling));
    run.order = ReplayOrder::kRandom;
    for (const uint64_t id : order) run.given_order.push_back(static_cast<StepIndex>(id));
  } else if (config.time_scale > 0) {
    run.order = ReplayOrder::kTiming;
    run.speed = 1 / config.time_scale;
  }
  return run;
}

/// Durations from the trace beside the recording.
StepDurations ReplayEngine::Impl::durations(std::vector<std::string>& warnings) const {
  const std::string beside = recording::tracePathFor(path);
  StepDurations out;
  if (access(beside.c_str(), F_OK) != 0) {
    out = StepDurations::none(source->plan, beside + " does not exist");
  } else if (const Status same = checkSameSession(source->reader, beside); !same) {
    out = StepDurations::none(source->plan, same.error().toString());
  } else if (const Result<Trace> known = readTrace(beside, warnings)) {
    out = StepDurations::of(source->plan, source->process, *known);
  } else {
    out = StepDurations::none(source->plan, known.error().toString());
  }
  if (!out.why_none.empty()) warnings.push_back("no duration is known: " + out.why_none);
  return out;
}

void ReplayEngine::Impl::takeRun(const RunSettings& settings, const RunResult& run,
                                 const PlanSimulation* simulation, ReplayResult& result) {
  const ReplayPlan& plan = source->plan;
  result.operations_executed = run.executed;
  result.operations_simulated = run.simulated;
  result.operations_skipped = run.skipped;
  result.operations_total = run.executed + run.simulated + run.skipped;
  result.operations_failed = run.problem_count;
  result.replay_duration = timestampOf(run.duration_ns);
  result.original_duration = timestampOf(recordedNs(plan));
  result.read_backs = run.shown;
  result.read_backs_equal = run.shown_equal;
  std::unordered_set<StepIndex> failed;
  for (const StepProblem& problem : run.problems) {
    failed.insert(problem.step);
    result.errors.push_back(stepName(plan, problem.step) + ": " + problem.text);
  }
  if (run.shown != run.shown_equal) {
    result.errors.push_back(fmt::format("{} of {} read-backs differ from the recording",
                                        run.shown - run.shown_equal, run.shown));
  }
  if (run.not_comparable != 0) {
    result.warnings.push_back(fmt::format(
        "{} read-backs could not be compared: the recording lacks them", run.not_comparable));
  }
  for (const LaunchHash& hash : run.launch_hashes) {
    if (!hash.recorded) continue;
    ++result.launches_hashed;
    if (hash.unlike_recorded.empty()) {
      ++result.launches_equal;
    } else {
      result.errors.push_back(stepName(plan, plan.launch(hash.launch)) +
                              ": its output differs from the recorded one");
    }
  }
  const std::vector<bool> needed =
      settings.steps.empty() ? std::vector<bool>() : stepsNeeded(plan, settings.steps);
  const auto came = [&](const StreamOperation& op) {
    const auto step = static_cast<StepIndex>(op.operation_id);
    if (!needed.empty() && !needed[step]) return skipped(op);
    // A failed one is listed in the errors.
    if (failed.contains(step)) return skipped(op);
    if (simulation == nullptr) return replayed(op, std::nullopt, 0);
    replayed(op, simulation->begin_ns[step], simulation->end_ns[step]);
  };
  if (run.order.empty()) {
    for (const StreamOperation& op : operations) came(op);
    return;
  }
  std::unordered_map<uint64_t, const StreamOperation*> by_id;
  for (const StreamOperation& op : operations) by_id.emplace(op.operation_id, &op);
  for (const StepIndex step : run.order) came(*by_id.at(step));
}

Status ReplayEngine::Impl::replayRecording(const ReplayConfig& config, ReplayResult& result) {
  TS_TRY(const RunSettings run, settingsOf(config));
  if (config.verbose) {
    for (const PlanNote& note : source->plan.notes()) {
      result.warnings.push_back(stepName(source->plan, note.step) + ": " + note.text);
    }
  }
  if (config.device != kSimulated) {
    ChildSettings settings;
    settings.run = run;
    settings.executor.device = config.device;
    settings.step_limit_s = config.step_limit_s;
    const ChildOutcome outcome = runInChild(source->plan, source->reader, settings);
    if (outcome.end == ChildEnd::kDone) {
      result.device = outcome.result.device;
      takeRun(run, outcome.result, nullptr, result);
      result.deterministic = result.read_backs != 0 && outcome.result.not_comparable == 0;
      return {};
    }
    if (outcome.end != ChildEnd::kFailed) {
      return fail(ErrorCode::kUnsupported, fmt::format("the replay {} {}", describeEnd(outcome),
                                                       stepPlace(source->plan, outcome.step)));
    }
    const bool no_device = outcome.error.code == ErrorCode::kNotFound && config.device.empty();
    if (!no_device) return tl::unexpected<Error>(outcome.error);
    result.warnings.push_back("there is no device: " + outcome.error.toString());
  }
  result.simulated = true;
  const StepDurations known = durations(result.warnings);
  RunSettings timed = run;
  if (timed.hash_launches) {
    timed.hash_launches = false;
    result.warnings.push_back("nothing was executed: there is no content to hash");
  }
  TS_TRY(const PlanSimulation simulation, simulatePlan(source->plan, source->reader, known, timed));
  takeRun(timed, simulation.run, &simulation, result);
  uint64_t unknown = 0;
  for (const auto& [kind, work] : simulation.work) unknown += work.unknown;
  if (unknown != 0) {
    result.warnings.push_back(
        fmt::format("{} commands took no time: their duration is unknown", unknown));
  }
  return {};
}

Status ReplayEngine::Impl::emulateTrace(ReplayResult& result) {
  TS_TRY(const TraceSimulation simulation,
         tracesmith::simulateTrace(*trace, ReplayOrder::kRecorded));
  const auto key = [](TableId table, uint32_t row) {
    return static_cast<uint64_t>(table) << 32 | row;
  };
  std::unordered_map<uint64_t, uint32_t> emulated;
  for (uint32_t i = 0; i < simulation.graph.ops.size(); ++i) {
    emulated.emplace(key(simulation.graph.ops[i].table, simulation.graph.ops[i].row), i);
  }
  std::vector<std::pair<uint32_t, const StreamOperation*>> order;
  for (const StreamOperation& op : operations) {
    const auto [table, row] = of_trace.rows[op.operation_id];
    const auto it = emulated.find(key(table, row));
    if (it == emulated.end()) {
      skipped(op);
    } else {
      order.emplace_back(it->second, &op);
    }
  }
  // Operations that start at the same time keep an order that respects dependencies.
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return simulation.begin_ns[a.first] < simulation.begin_ns[b.first];
  });
  for (const auto& [i, op] : order) {
    // An operation that overlapped its predecessor when recorded may do so again.
    const bool free = of_trace.overlaps[op->operation_id];
    replayed(*op, free ? std::nullopt : std::optional(simulation.begin_ns[i]),
             simulation.end_ns[i]);
  }
  result.operations_simulated = order.size();
  result.operations_total = deviceOperations();
  result.operations_skipped = result.operations_total - order.size();
  result.replay_duration = timestampOf(simulation.virtual_ns);
  result.original_duration = timestampOf(simulation.recorded_ns);
  if (simulation.unmatched() != 0) {
    result.warnings.push_back(fmt::format(
        "{} of {} operations have no launch in the trace: they start at their recorded time",
        simulation.unmatched(), simulation.graph.ops.size()));
  }
  return {};
}

Status ReplayEngine::Impl::simulateTrace(const ReplayConfig& config, ReplayResult& result) {
  if (!config.device.empty() && config.device != kSimulated) {
    return fail(ErrorCode::kUnsupported,
                "there is no recording, so nothing can be executed on this device", config.device);
  }
  TS_CHECK_OK(haveOneClock(*trace));
  result.simulated = true;
  if (config.compute_checksums) {
    result.warnings.push_back("nothing was executed: there is no content to hash");
  }
  if (config.mode == ReplayMode::Full && config.scheduling == SchedulingPolicy::OriginalTiming) {
    return emulateTrace(result);
  }
  const auto wanted = chosen(config);
  TS_TRY(const std::vector<uint64_t> order, scheduled(wanted, config.scheduling));
  std::unordered_map<uint64_t, const StreamOperation*> by_id;
  for (const StreamOperation* op : wanted) by_id.emplace(op->operation_id, op);
  std::unordered_map<uint64_t, int64_t> over;         // end time by id
  std::unordered_map<uint64_t, int64_t> stream_over;  // end time by device and stream
  int64_t first = INT64_MAX, last = 0, virtual_ns = 0;
  for (const uint64_t id : order) {
    const StreamOperation& op = *by_id.at(id);
    int64_t& stream = stream_over[uint64_t{op.device_id} << 32 | op.stream_id];
    int64_t begin = op.out_of_order ? 0 : stream;
    for (const uint64_t before : op.depends_on) {
      const auto it = over.find(before);
      if (it != over.end()) begin = std::max(begin, it->second);
    }
    const auto recorded =
        static_cast<int64_t>(std::min<Timestamp>(op.event.timestamp, Timestamp{INT64_MAX}));
    const auto length =
        static_cast<int64_t>(std::min<Timestamp>(op.event.duration, Timestamp{INT64_MAX}));
    // A host wait ends when everything it waits for has ended.
    const int64_t end = isDeviceWork(op) ? endOf(begin, length) : begin;
    over[id] = end;
    stream = std::max(stream, end);
    virtual_ns = std::max(virtual_ns, end);
    replayed(op, begin, end);
    if (!isDeviceWork(op)) continue;
    ++result.operations_simulated;
    first = std::min(first, recorded);
    last = std::max(last, endOf(recorded, length));
  }
  for (const StreamOperation& op : operations) {
    if (!by_id.contains(op.operation_id)) skipped(op);
  }
  result.operations_total = deviceOperations();
  result.operations_skipped = result.operations_total - result.operations_simulated;
  result.replay_duration = timestampOf(virtual_ns);
  result.original_duration = timestampOf(lengthOf(first, last));
  return {};
}

ReplayEngine::ReplayEngine() : impl_(std::make_unique<Impl>()) {}
ReplayEngine::~ReplayEngine() = default;
ReplayEngine::ReplayEngine(ReplayEngine&&) noexcept = default;
ReplayEngine& ReplayEngine::operator=(ReplayEngine&&) noexcept = default;

Status ReplayEngine::loadTrace(const std::string& path) {
  impl_ = std::make_unique<Impl>();
  Impl& impl = *impl_;
  impl.path = path;
  if (!RecordingReader::isThere(path)) {
    TS_TRY(Trace trace, readTrace(path, impl.load_warnings));
    impl.setTrace(std::move(trace));
    Status wanted = checkCancelled();
    if (!wanted) impl_ = std::make_unique<Impl>();
    return wanted;
  }
  TS_TRY(ReplaySource source, ReplaySource::open(path));
  for (const DataLoss& loss : source.reader.losses()) {
    impl.load_warnings.push_back(
        fmt::format("{}: at byte {}: {}", source.reader.path(), loss.offset, loss.reason));
  }
  if (source.reader.path() != path && source.reader.sessionId().empty()) {
    impl.load_warnings.push_back(source.reader.path() + kNoSessionId);
  }
  if (!source.reader.complete()) {
    impl.load_warnings.push_back(source.reader.path() +
                                 ": was not finished; the existing part is replayed");
  }
  impl.operations = operationsOf(source.plan);
  impl.source.emplace(std::move(source));
  return {};
}

Status ReplayEngine::loadEvents(const std::vector<TraceEvent>& events) {
  impl_ = std::make_unique<Impl>();
  Trace trace;
  appendEvents(trace, events);
  impl_->setTrace(std::move(trace));
  Status wanted = checkCancelled();
  if (wanted && impl_->deviceOperations() != 0) return {};
  impl_ = std::make_unique<Impl>();
  TS_CHECK_OK(std::move(wanted));
  return fail(ErrorCode::kInvalidArgument,
              "no event is a device operation (KernelComplete, Memcpy…, MemsetDevice)");
}

ReplayResult ReplayEngine::replay(const ReplayConfig& config) {
  Impl& impl = *impl_;
  ReplayResult result;
  result.warnings = impl.load_warnings;
  impl.checker.reset();
  Status done = impl.check(config);
  if (done) {
    for (const StreamOperation& op : impl.operations) impl.checker.recordOriginal(op);
    done = config.mode == ReplayMode::DryRun ? impl.dryRun(config, result)
           : impl.source                     ? impl.replayRecording(config, result)
                                             : impl.simulateTrace(config, result);
  }
  if (done) {
    impl.validate(config, result);
  } else {
    result.errors.push_back(done.error().toString());
  }
  const bool did_anything = config.mode == ReplayMode::DryRun || result.operations_executed != 0 ||
                            result.operations_simulated != 0;
  if (result.errors.empty() && !did_anything) result.errors.push_back("nothing was replayed");
  result.success = result.errors.empty();
  result.deterministic = result.deterministic && result.success;
  if (config.pause_on_error && result.errors.size() > 1) result.errors.resize(1);
  return result;
}

bool ReplayEngine::hasRecording() const { return impl_->source.has_value(); }
const std::vector<StreamOperation>& ReplayEngine::operations() const { return impl_->operations; }
const DeterminismChecker& ReplayEngine::getChecker() const { return impl_->checker; }

}  // namespace tracesmith
