// SPDX-License-Identifier: Apache-2.0
// The time of another clock for times of this host, with a bound. Times of this host are those of
// traces: ns of CLOCK_MONOTONIC. docs/cluster.md says what the bounds take for granted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tracesmith {

/// Which clock is the reference.
enum class TimeSyncMethod : uint8_t {
  SystemClock,  ///< CLOCK_REALTIME of this host, right or wrong
  NTP,          ///< UTC, by this host's time daemon or by a time server
  PTP,          ///< the clock of a network adapter
  CUDA,         ///< of a GPU: correlateGPUTimestamps()
  MACA,         ///< of a GPU: correlateGPUTimestamps()
  Custom,       ///< by setManualOffset()
};
/// "System Clock", "NTP", ...
std::string_view timeSyncMethodToString(TimeSyncMethod method);
/// In any case of letters; nullopt for a name that is none.
std::optional<TimeSyncMethod> stringToTimeSyncMethod(std::string_view name);

struct TimeSyncConfig {
  TimeSyncMethod method = TimeSyncMethod::SystemClock;
  std::string ntp_server;            ///< "name" or "name:port"; "": ask this host's chrony or ntpd
  std::string ptp_interface;         ///< "eth0"
  uint32_t sync_interval_ms = 1000;  ///< synchronize() asks no more often; 0: always
  /// A result whose uncertainty is larger is a failure; 0: any will do.
  uint64_t max_acceptable_offset_ns = 0;
};

struct SyncResult {
  bool success = false;
  int64_t offset_ns = 0;        ///< the reference minus this host's clock
  uint64_t round_trip_ns = 0;   ///< of the quickest question; 0: nothing was asked over a network
  uint64_t uncertainty_ns = 0;  ///< the offset is at most so far off
  int64_t sync_time = 0;        ///< of this host's clock, ns
  std::string error_message;    ///< if it was no success: what went wrong, and what to do
};

class TimeSync {
 public:
  explicit TimeSync(TimeSyncConfig config = {});
  ~TimeSync();
  TimeSync(TimeSync&&) noexcept;
  TimeSync& operator=(TimeSync&&) noexcept;

  /// Synchronizes for the first time; false: getLastSyncResult() says why.
  bool initialize();
  /// Forgets everything.
  void finalize();
  bool isInitialized() const;
  const TimeSyncConfig& getConfig() const;

  /// Asks for the offset now, or gives the last result if that is younger than sync_interval_ms.
  /// Conversions know the newest 50,000 to 100,000 results; they take older times for ones before.
  SyncResult synchronize();
  /// The clock of another host, where `tracesmith clock serve` runs ("name" or "name:port"), minus
  /// this one. It is no part of the history.
  SyncResult synchronizeWithNode(const std::string& host);

  /// A time of this host in the clock of the reference, and back. With an unknown offset, the same.
  int64_t toSynchronizedTime(int64_t local_ns) const;
  int64_t toLocalTime(int64_t reference_ns) const;
  /// How far off toSynchronizedTime() can be; nullopt: unknown, as with an offset set by hand.
  std::optional<uint64_t> uncertaintyAt(int64_t local_ns) const;

  /// Of the last success, or the one that was set; 0: none.
  int64_t getCurrentOffset() const;
  /// From now on this is the offset, until the next synchronize() of another method than Custom.
  void setManualOffset(int64_t offset_ns);

  /// Pairs of a GPU's time and this host's at the same moment, both ns: the offset becomes their
  /// median. False without pairs.
  bool correlateGPUTimestamps(uint32_t gpu_id,
                              std::span<const std::pair<int64_t, int64_t>> gpu_and_host);
  /// This host's clock minus that of the GPU; 0: not known.
  int64_t getGPUOffset(uint32_t gpu_id) const;
  void setGPUOffset(uint32_t gpu_id, int64_t offset_ns);

  /// Over the successes since clearHistory(); 0 without any.
  double getAverageOffset() const;
  double getOffsetStdDev() const;  ///< of the sample; 0 with fewer than two
  uint64_t getSyncCount() const;   ///< successes
  SyncResult getLastSyncResult() const;
  void clearHistory();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One moment on two clocks, ns.
struct CorrelationPoint {
  int64_t source_time = 0;
  int64_t reference_time = 0;
  int64_t recorded_at = 0;  ///< when it was added, CLOCK_MONOTONIC
};

/// reference = source + offset + drift_rate * (source - of the first point), by least squares.
struct DriftModel {
  double offset = 0;      ///< ns, at the first point
  double drift_rate = 0;  ///< ns per ns
  double r_squared = 0;   ///< share of the variance of the offsets that the drift explains
  bool valid = false;     ///< needs two points at different times
};

/// Joins clocks by moments that are known on both. For bounds use TimeSync.
class ClockCorrelator {
 public:
  using CorrelationPoint = tracesmith::CorrelationPoint;
  using DriftModel = tracesmith::DriftModel;

  void addCorrelationPoint(const std::string& source, int64_t source_time, int64_t reference_time);
  std::vector<CorrelationPoint> getCorrelationPoints(const std::string& source) const;
  /// The median of reference minus source; nullopt for a source without points.
  std::optional<int64_t> calculateOffset(const std::string& source) const;
  /// The times plus calculateOffset(); unchanged for a source without points.
  std::vector<int64_t> correctTimestamps(const std::string& source,
                                         std::span<const int64_t> times) const;
  DriftModel calculateDriftModel(const std::string& source) const;
  /// A time by the drift model; by the offset alone while that is not valid.
  int64_t applyDriftCorrection(const std::string& source, int64_t time) const;
  void clear();
  void clearSource(const std::string& source);

 private:
  std::map<std::string, std::vector<CorrelationPoint>> points_;
};

}  // namespace tracesmith
