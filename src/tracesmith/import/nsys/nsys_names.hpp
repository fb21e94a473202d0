// SPDX-License-Identifier: Apache-2.0
// The lookup tables of an Nsight Systems export: texts, enumerations, devices, processes, threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/import/sqlite/sqlite_source.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::import {

constexpr int64_t nsysPid(int64_t global_id) { return global_id >> 24 & 0xffffff; }
constexpr int64_t nsysTid(int64_t global_id) { return global_id & 0xffffff; }

class NsysNames {
 public:
  explicit NsysNames(TraceBuilder& builder) : builder_(builder) {}

  /// Reads a table that is NsysTarget::kDictionary and keeps its rows. Returns their number.
  uint64_t read(SqliteFile& file, const SqliteTable& table);

  /// Text of an id of the table StringIds; "" if there is none.
  StringId text(int64_t id) const;
  std::string_view label(std::string_view enumeration, int64_t value) const;

  // Meaning of numbers in the file: by the names in its tables, else as defined in CUPTI's headers.
  CopyKind copyKind(int64_t value) const;
  SyncKind syncKind(int64_t value) const;
  MemoryKind memoryKind(int64_t value) const;
  enum class NvtxKind : uint8_t { kRange, kMark, kDomain, kThread, kOther };
  NvtxKind nvtxKind(int64_t event_type) const;

  /// Number of the GPU that is CUDA device `device` in that process.
  int64_t gpu(int64_t pid, int64_t device) const;
  std::string_view metricName(int64_t type, int64_t metric) const;
  /// Processes, threads and devices that events refer to.
  struct Used {
    std::set<int64_t> pids;
    std::set<std::pair<int64_t, int64_t>> tids;
    std::set<int64_t> devices;
  };
  /// Writes names of the processes and threads, and properties of the devices.
  void nameUsedIds(const Used& used);
  /// Unix time (ns) of time 0; nullopt if the export does not contain it.
  std::optional<int64_t> unixEpoch() const;

 private:
  struct EnumValue {
    std::string name;
    std::string label;
  };
  struct Gpu {
    std::string name, pci, uuid, chip;
    int64_t memory = 0, units = 0, clock_hz = 0, major = 0, minor = 0, warp = 0, warps = 0;
    int64_t threads = 0;
  };
  std::string_view symbol(std::string_view enumeration, int64_t value) const;
  void readRow(const SqliteTable& table, const SqliteRow& row);

  TraceBuilder& builder_;
  std::unordered_map<int64_t, StringId> texts_;
  std::map<std::string, std::map<int64_t, EnumValue>, std::less<>> enums_;
  std::map<std::pair<int64_t, int64_t>, int64_t> gpu_of_;  // by pid and CUDA device number
  std::map<int64_t, Gpu> gpus_;
  std::map<int64_t, std::string> processes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> threads_;  // text ids
  std::map<std::pair<int64_t, int64_t>, std::string> metrics_;
  std::string driver_;
  int64_t utc_ns_ = 0;  // start of the session
  int64_t shift_ns_ = 0;
  bool normalised_ = false;
};

}  // namespace tracesmith::import
