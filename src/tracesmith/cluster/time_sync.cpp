// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/time_sync.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/calendar_clock.hpp"
#include "tracesmith/capture/clocks/clock_probe.hpp"
#include "tracesmith/capture/clocks/hardware_clock.hpp"
#include "tracesmith/capture/clocks/time_daemon.hpp"
#include "tracesmith/capture/clocks/time_server.hpp"
#include "tracesmith/clocks/clock_estimate.hpp"

namespace tracesmith {
namespace {

constexpr std::array<std::pair<TimeSyncMethod, std::string_view>, 6> kMethods = {{
    {TimeSyncMethod::SystemClock, "System Clock"},
    {TimeSyncMethod::NTP, "NTP"},
    {TimeSyncMethod::PTP, "PTP"},
    {TimeSyncMethod::CUDA, "CUDA"},
    {TimeSyncMethod::MACA, "MACA"},
    {TimeSyncMethod::Custom, "Custom"},
}};
constexpr size_t kMostKept = 100'000;  // of bounds, for conversions

/// Lower case, without spaces and what joins words.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

SyncResult failure(std::string why) {
  return {.sync_time = monotonicNs(), .error_message = std::move(why)};
}

SyncResult resultOf(const clocks::OffsetBound& bound, int64_t trip_ns) {
  return {.success = true,
          .offset_ns = bound.middle(),
          .round_trip_ns = static_cast<uint64_t>(std::max<int64_t>(trip_ns, 0)),
          .uncertainty_ns = static_cast<uint64_t>(bound.halfWidth()),
          .sync_time = bound.at};
}

bool isMeasured(TimeSyncMethod method) {
  return method == TimeSyncMethod::SystemClock || method == TimeSyncMethod::NTP ||
         method == TimeSyncMethod::PTP;
}

/// a + b, limited to the range of int64_t.
int64_t sumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}
int64_t differenceOf(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b > 0 ? INT64_MIN : INT64_MAX;
}

int64_t medianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A straight line through the offsets of points, by least squares. Relative to the first point:
/// offsets from the calendar are too large for a double.
struct Fit {
  int64_t first_offset = 0;
  double offset = 0;  // at the first point's time, on top of first_offset
  double rate = 0;
  double r_squared = 0;
  bool is_valid = false;
};

Fit fitOf(const std::vector<CorrelationPoint>& points) {
  Fit fit;
  if (points.empty()) return fit;
  const CorrelationPoint& first = points.front();
  fit.first_offset = differenceOf(first.reference_time, first.source_time);
  const auto n = static_cast<double>(points.size());
  const auto xOf = [&](const CorrelationPoint& p) {
    return static_cast<double>(differenceOf(p.source_time, first.source_time));
  };
  const auto yOf = [&](const CorrelationPoint& p) {
    return static_cast<double>(
        differenceOf(differenceOf(p.reference_time, p.source_time), fit.first_offset));
  };
  double mean_x = 0, mean_y = 0;
  for (const CorrelationPoint& p : points) {
    mean_x += xOf(p) / n;
    mean_y += yOf(p) / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const CorrelationPoint& p : points) {
    const double x = xOf(p) - mean_x, y = yOf(p) - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0) return fit;
  fit.rate = xy / xx;
  fit.offset = mean_y - fit.rate * mean_x;
  fit.r_squared = yy <= 0 ? 1 : xy * xy / (xx * yy);
  fit.is_valid = true;
  return fit;
}

}  // namespace

std::string_view timeSyncMethodToString(TimeSyncMethod method) {
  for (const auto& [each, name] : kMethods) {
    if (each == method) return name;
  }
  return "Unknown";
}

std::optional<TimeSyncMethod> stringToTimeSyncMethod(std::string_view name) {
  const std::string wanted = plain(name);
  for (const auto& [method, text] : kMethods) {
    if (plain(text) == wanted) return method;
  }
  return wanted == "system" ? std::optional(TimeSyncMethod::SystemClock) : std::nullopt;
}

// --- TimeSync -----------------------------------------------------------------------------------

struct TimeSync::State {
  TimeSyncConfig config;
  bool is_initialized = false;
  SyncResult last;
  std::optional<int64_t> manual_offset;
  std::vector<clocks::OffsetBound> bounds;
  std::optional<clocks::ClockEstimate> to_reference, to_local;  // made when a time is converted
  std::optional<int64_t> asked_ns;
  std::map<uint32_t, int64_t> gpu_offsets;
  // Welford's sums over the successes.
  uint64_t count = 0;
  double mean = 0, squares = 0;

  SyncResult ask() const;
  SyncResult daemonOrServer() const;
  SyncResult hardwareClock() const;
  void take(const SyncResult& result);
  /// Makes the estimates, if there are bounds.
  void estimate();
};

SyncResult TimeSync::State::daemonOrServer() const {
  if (!config.ntp_server.empty()) {
    const Result<ServerTime> time = askTimeServer(config.ntp_server);
    return time ? resultOf(time->utc, time->least_trip_ns) : failure(time.error().toString());
  }
  const Result<DaemonTime> time = askTimeDaemon();
  return time ? resultOf(time->utc, 0) : failure(time.error().toString());
}

SyncResult TimeSync::State::hardwareClock() const {
  if (config.ptp_interface.empty()) {
    return failure("which network adapter? set ptp_interface, for example to eth0");
  }
  const Result<clocks::OffsetBound> clock = askHardwareClock(config.ptp_interface);
  return clock ? resultOf(*clock, 0) : failure(clock.error().toString());
}

SyncResult TimeSync::State::ask() const {
  switch (config.method) {
    case TimeSyncMethod::SystemClock:
      return resultOf(calendarOffset(), 0);
    case TimeSyncMethod::NTP:
      return daemonOrServer();
    case TimeSyncMethod::PTP:
      return hardwareClock();
    case TimeSyncMethod::CUDA:
    case TimeSyncMethod::MACA:
      if (gpu_offsets.empty()) {
        return failure(
            "no times of a GPU are known: call correlateGPUTimestamps() with pairs of its time and "
            "this "
            "host's. Traces have the times of all devices in the host's clock already");
      }
      return {.success = true,
              .offset_ns = differenceOf(0, gpu_offsets.begin()->second),
              .sync_time = monotonicNs()};
    case TimeSyncMethod::Custom:
      if (!manual_offset) return failure("no offset is set: call setManualOffset()");
      return {.success = true, .offset_ns = *manual_offset, .sync_time = monotonicNs()};
  }
  return failure("no such method");
}

void TimeSync::State::take(const SyncResult& result) {
  ++count;
  const auto offset = static_cast<double>(result.offset_ns);
  const double before = offset - mean;
  mean += before / static_cast<double>(count);
  squares += before * (offset - mean);
  if (!isMeasured(config.method)) {
    manual_offset = result.offset_ns;
    return;
  }
  manual_offset.reset();
  to_reference.reset();
  to_local.reset();
  if (bounds.size() == kMostKept) bounds.erase(bounds.begin(), bounds.begin() + kMostKept / 2);
  const auto half = static_cast<int64_t>(result.uncertainty_ns);
  bounds.push_back({result.sync_time, result.offset_ns - half, result.offset_ns + half});
}

void TimeSync::State::estimate() {
  if (to_reference || bounds.empty()) return;
  to_reference = *clocks::ClockEstimate::of(bounds);
  to_local = *clocks::ClockEstimate::seenFromOther(bounds);
}

TimeSync::TimeSync(TimeSyncConfig config) : state_(std::make_unique<State>()) {
  state_->config = std::move(config);
}
TimeSync::~TimeSync() = default;
TimeSync::TimeSync(TimeSync&&) noexcept = default;
TimeSync& TimeSync::operator=(TimeSync&&) noexcept = default;

bool TimeSync::initialize() {
  state_->is_initialized = synchronize().success;
  return state_->is_initialized;
}

void TimeSync::finalize() {
  TimeSyncConfig config = std::move(state_->config);
  *state_ = State();
  state_->config = std::move(config);
}

bool TimeSync::isInitialized() const { return state_->is_initialized; }
const TimeSyncConfig& TimeSync::getConfig() const { return state_->config; }

SyncResult TimeSync::synchronize() {
  State& s = *state_;
  const int64_t between = int64_t{s.config.sync_interval_ms} * 1'000'000;
  // Also one that failed is not asked again at once: it may have asked for that.
  if (isMeasured(s.config.method) && s.asked_ns && !s.manual_offset &&
      monotonicNs() - *s.asked_ns < between) {
    return s.last;
  }
  s.asked_ns = monotonicNs();
  SyncResult result = s.ask();
  const uint64_t most = s.config.max_acceptable_offset_ns;
  if (result.success && most != 0 && result.uncertainty_ns > most) {
    result.success = false;
    result.error_message = "the offset is known to " + std::to_string(result.uncertainty_ns) +
                           " ns, and max_acceptable_offset_ns is " + std::to_string(most);
  }
  s.last = result;
  if (result.success) s.take(result);
  return result;
}

SyncResult TimeSync::synchronizeWithNode(const std::string& host) {
  Result<ClockProbe> probe = ClockProbe::open(host);
  if (!probe) return failure(probe.error().toString());
  constexpr int64_t kPatienceNs = 200'000'000;
  const std::atomic<bool> never{false};
  const Status asked = probe->burst(kPatienceNs, never);
  if (!asked) return failure(asked.error().toString());
  if (probe->bounds().empty()) {
    return failure(host +
                   " answers no questions about its clock; start 'tracesmith clock serve' there");
  }
  return resultOf(probe->bounds().back(), probe->counts().least_trip_ns);
}

int64_t TimeSync::toSynchronizedTime(int64_t local_ns) const {
  State& s = *state_;
  if (s.manual_offset) return sumOf(local_ns, *s.manual_offset);
  s.estimate();
  return s.to_reference ? s.to_reference->toOther({local_ns, local_ns, local_ns}).value : local_ns;
}

int64_t TimeSync::toLocalTime(int64_t reference_ns) const {
  State& s = *state_;
  if (s.manual_offset) return differenceOf(reference_ns, *s.manual_offset);
  s.estimate();
  return s.to_local ? s.to_local->toOther({reference_ns, reference_ns, reference_ns}).value
                    : reference_ns;
}

std::optional<uint64_t> TimeSync::uncertaintyAt(int64_t local_ns) const {
  State& s = *state_;
  s.estimate();
  if (s.manual_offset || !s.to_reference) return std::nullopt;
  return static_cast<uint64_t>(s.to_reference->toOther({local_ns, local_ns, local_ns}).error());
}

int64_t TimeSync::getCurrentOffset() const {
  const State& s = *state_;
  if (s.manual_offset) return *s.manual_offset;
  return s.bounds.empty() ? 0 : s.bounds.back().middle();
}

void TimeSync::setManualOffset(int64_t offset_ns) { state_->manual_offset = offset_ns; }

bool TimeSync::correlateGPUTimestamps(uint32_t gpu_id,
                                      std::span<const std::pair<int64_t, int64_t>> gpu_and_host) {
  if (gpu_and_host.empty()) return false;
  std::vector<int64_t> offsets;
  for (const auto& [gpu, host] : gpu_and_host) offsets.push_back(differenceOf(host, gpu));
  state_->gpu_offsets[gpu_id] = medianOf(std::move(offsets));
  return true;
}

int64_t TimeSync::getGPUOffset(uint32_t gpu_id) const {
  const auto known = state_->gpu_offsets.find(gpu_id);
  return known == state_->gpu_offsets.end() ? 0 : known->second;
}

void TimeSync::setGPUOffset(uint32_t gpu_id, int64_t offset_ns) {
  state_->gpu_offsets[gpu_id] = offset_ns;
}

double TimeSync::getAverageOffset() const { return state_->mean; }

double TimeSync::getOffsetStdDev() const {
  return state_->count < 2 ? 0
                           : std::sqrt(state_->squares / static_cast<double>(state_->count - 1));
}

uint64_t TimeSync::getSyncCount() const { return state_->count; }
SyncResult TimeSync::getLastSyncResult() const { return state_->last; }

void TimeSync::clearHistory() {
  state_->count = 0;
  state_->mean = state_->squares = 0;
}

// --- ClockCorrelator ----------------------------------------------------------------------------

void ClockCorrelator::addCorrelationPoint(const std::string& source, int64_t source_time,
                                          int64_t reference_time) {
  points_[source].push_back({source_time, reference_time, monotonicNs()});
}

std::vector<CorrelationPoint> ClockCorrelator::getCorrelationPoints(
    const std::string& source) const {
  const auto known = points_.find(source);
  return known == points_.end() ? std::vector<CorrelationPoint>() : known->second;
}

std::optional<int64_t> ClockCorrelator::calculateOffset(const std::string& source) const {
  const auto known = points_.find(source);
  if (known == points_.end() || known->second.empty()) return std::nullopt;
  std::vector<int64_t> offsets;
  for (const CorrelationPoint& p : known->second)
    offsets.push_back(differenceOf(p.reference_time, p.source_time));
  return medianOf(std::move(offsets));
}

std::vector<int64_t> ClockCorrelator::correctTimestamps(const std::string& source,
                                                        std::span<const int64_t> times) const {
  const int64_t offset = calculateOffset(source).value_or(0);
  std::vector<int64_t> corrected(times.begin(), times.end());
  for (int64_t& time : corrected) time = sumOf(time, offset);
  return corrected;
}

DriftModel ClockCorrelator::calculateDriftModel(const std::string& source) const {
  const Fit fit = fitOf(getCorrelationPoints(source));
  return {static_cast<double>(fit.first_offset) + fit.offset, fit.rate, fit.r_squared,
          fit.is_valid};
}

int64_t ClockCorrelator::applyDriftCorrection(const std::string& source, int64_t time) const {
  const std::vector<CorrelationPoint> points = getCorrelationPoints(source);
  const Fit fit = fitOf(points);
  if (!fit.is_valid) return sumOf(time, calculateOffset(source).value_or(0));
  const auto since = static_cast<double>(differenceOf(time, points.front().source_time));
  const double rest = std::clamp(fit.offset + fit.rate * since, -0x1p62, 0x1p62);
  return sumOf(sumOf(time, fit.first_offset), std::llround(rest));
}

void ClockCorrelator::clear() { points_.clear(); }
void ClockCorrelator::clearSource(const std::string& source) { points_.erase(source); }

}  // namespace tracesmith
