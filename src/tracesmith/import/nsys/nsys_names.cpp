// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tracesmith::import {
namespace {

// Longest metadata value; longer ones are only kept as table rows.
constexpr size_t kLongestFact = 4096;

constexpr std::string_view kCopyEnum = "ENUM_CUDA_MEMCPY_OPER";
constexpr std::string_view kSyncEnum = "ENUM_CUPTI_SYNC_TYPE";
constexpr std::string_view kMemory = "ENUM_CUDA_DEV_MEM_EVENT_OPER";
constexpr std::string_view kEvents = "ENUM_NSYS_EVENT_TYPE";

/// Values for exports without tables of enumerations: those of CUpti_ActivityMemcpyKind, of
/// CUpti_ActivitySynchronizationType and of the tool itself.
struct Known {
  std::string_view enumeration;
  int64_t value;
  std::string_view name;
};
constexpr auto kKnown = std::to_array<Known>({
    {kCopyEnum, 1, "HTOD"},
    {kCopyEnum, 2, "DTOH"},
    {kCopyEnum, 3, "HTOA"},
    {kCopyEnum, 4, "ATOH"},
    {kCopyEnum, 5, "ATOA"},
    {kCopyEnum, 6, "ATOD"},
    {kCopyEnum, 7, "DTOA"},
    {kCopyEnum, 8, "DTOD"},
    {kCopyEnum, 9, "HTOH"},
    {kCopyEnum, 10, "PTOP"},
    {kSyncEnum, 1, "EVENT_SYNCHRONIZE"},
    {kSyncEnum, 2, "STREAM_WAIT_EVENT"},
    {kSyncEnum, 3, "STREAM_SYNCHRONIZE"},
    {kSyncEnum, 4, "CONTEXT_SYNCHRONIZE"},
    {kMemory, 0, "ALLOCATION"},
    {kMemory, 1, "DEALLOCATION"},
    {kEvents, 34, "NvtxMark"},
    {kEvents, 39, "NvtxThread"},
    {kEvents, 59, "NvtxPushPopRange"},
    {kEvents, 60, "NvtxStartEndRange"},
    {kEvents, 75, "NvtxDomainCreate"},
});

template <class Kind>
struct Meaning {
  std::string_view name;
  Kind kind;
};

template <class Kind, size_t kCount>
Kind byEnding(const std::array<Meaning<Kind>, kCount>& meanings, std::string_view name,
              Kind otherwise) {
  for (const auto& meaning : meanings) {
    if (name.ends_with(meaning.name)) return meaning.kind;
  }
  return otherwise;
}

}  // namespace

uint64_t NsysNames::read(SqliteFile& file, const SqliteTable& table) {
  SqliteSource source(builder_, table, table.name, {});
  uint64_t rows = 0;
  file.scan(table, [&](const SqliteRow& row) {
    ++rows;
    readRow(table, row);
    source.keepAlone(row);
    return !builder_.failed();
  });
  return rows;
}

void NsysNames::readRow(const SqliteTable& table, const SqliteRow& row) {
  const auto integer = [&](std::string_view column) { return row.integer(table.find(column)); };
  const auto text = [&](std::string_view column) {
    return std::string(row.bytes(table.find(column)));
  };
  const std::string_view name = table.name;
  if (name == "StringIds") {
    texts_[integer("id")] = builder_.text(row.bytes(table.find("value")));
  } else if (name.starts_with("ENUM_")) {
    enums_[table.name][integer("id")] = {text("name"), text("label")};
  } else if (name == "ThreadNames") {
    const int64_t id = integer("globalTid");
    threads_[{nsysPid(id), nsysTid(id)}] = integer("nameId");
  } else if (name == "PROCESSES") {
    processes_[nsysPid(integer("globalPid"))] = text("name");
  } else if (name == "TARGET_INFO_CUDA_DEVICE") {
    const int gpu = table.find("gpuId");
    if (row.type(gpu) == SqliteType::kInteger) {
      gpu_of_[{integer("pid"), integer("cudaId")}] = row.integer(gpu);
    }
  } else if (name == "TARGET_INFO_GPU" || name == "TARGET_INFO_CUDA_GPU") {
    Gpu& gpu = gpus_[integer("id")];
    gpu.name = text("name");
    gpu.pci = text("busLocation");
    gpu.uuid = text("uuid");
    gpu.chip = text("chipName");
    gpu.memory = integer("totalMemory");
    gpu.units = integer("smCount");
    gpu.clock_hz = integer("clockRate");
    gpu.major = integer("computeMajor");
    gpu.minor = integer("computeMinor");
    gpu.warp = integer("threadsPerWarp");
    gpu.warps = integer("maxWarpsPerSm");
    gpu.threads = integer("maxThreadsPerBlock");
  } else if (name == "TARGET_INFO_GPU_METRICS") {
    const std::string type = text("typeName");
    metrics_[{integer("typeId"), integer("metricId")}] =
        text("metricName") + (type.empty() ? "" : " (" + type + ")");
  } else if (name == "TARGET_INFO_SESSION_START_TIME") {
    utc_ns_ = integer("utcEpochNs");
  } else if (name.starts_with("META_DATA_") || name == "TARGET_INFO_SYSTEM_ENV") {
    const std::string key = text("name");
    const std::string value = text("value");
    if (key == "EXPORT_PARAM_TIME_NORMALIZE") normalised_ = value == "true";
    if (key == "EXPORT_PARAM_TIME_SHIFT") {
      std::from_chars(value.data(), value.data() + value.size(), shift_ns_);
    }
    if (key == "NvDriverVersion") driver_ = value;
    // Many parameters of a capture have the same name, so they are only kept as table rows.
    if (name != "META_DATA_CAPTURE" && value.size() <= kLongestFact) {
      builder_.setMetadata("nsys." + key, value);
    }
  }
}

StringId NsysNames::text(int64_t id) const {
  const auto it = texts_.find(id);
  return it == texts_.end() ? StringId::kNone : it->second;
}

std::string_view NsysNames::symbol(std::string_view enumeration, int64_t value) const {
  const auto table = enums_.find(enumeration);
  if (table != enums_.end()) {
    const auto it = table->second.find(value);
    if (it != table->second.end() && !it->second.name.empty()) return it->second.name;
  }
  for (const Known& known : kKnown) {
    if (known.enumeration == enumeration && known.value == value) return known.name;
  }
  return {};
}

std::string_view NsysNames::label(std::string_view enumeration, int64_t value) const {
  const auto table = enums_.find(enumeration);
  if (table == enums_.end()) return {};
  const auto it = table->second.find(value);
  return it == table->second.end() ? std::string_view{} : it->second.label;
}

CopyKind NsysNames::copyKind(int64_t value) const {
  using K = CopyKind;
  static constexpr auto kMeanings = std::to_array<Meaning<K>>({
      {"HTOD", K::kHostToDevice},
      {"HTOA", K::kHostToDevice},
      {"DTOH", K::kDeviceToHost},
      {"ATOH", K::kDeviceToHost},
      {"DTOD", K::kDeviceToDevice},
      {"DTOA", K::kDeviceToDevice},
      {"ATOD", K::kDeviceToDevice},
      {"ATOA", K::kDeviceToDevice},
      {"HTOH", K::kHostToHost},
      {"PTOP", K::kPeerToPeer},
  });
  return byEnding(kMeanings, symbol(kCopyEnum, value), K::kUnknown);
}

SyncKind NsysNames::syncKind(int64_t value) const {
  using K = SyncKind;
  static constexpr auto kMeanings = std::to_array<Meaning<K>>({
      {"EVENT_SYNCHRONIZE", K::kEventWait},
      {"STREAM_WAIT_EVENT", K::kBarrier},
      {"STREAM_SYNCHRONIZE", K::kStreamWait},
      {"CONTEXT_SYNCHRONIZE", K::kDeviceWait},
  });
  return byEnding(kMeanings, symbol(kSyncEnum, value), K::kUnknown);
}

MemoryKind NsysNames::memoryKind(int64_t value) const {
  using K = MemoryKind;
  static constexpr auto kMeanings = std::to_array<Meaning<K>>({
      {"DEALLOCATION", K::kFree},
      {"ALLOCATION", K::kAlloc},
  });
  return byEnding(kMeanings, symbol(kMemory, value), K::kUnknown);
}

NsysNames::NvtxKind NsysNames::nvtxKind(int64_t event_type) const {
  using K = NvtxKind;
  static constexpr auto kMeanings = std::to_array<Meaning<K>>({
      {"PushPopRange", K::kRange},
      {"StartEndRange", K::kRange},
      {"Mark", K::kMark},
      {"DomainCreate", K::kDomain},
      {"Thread", K::kThread},
  });
  return byEnding(kMeanings, symbol(kEvents, event_type), K::kOther);
}

int64_t NsysNames::gpu(int64_t pid, int64_t device) const {
  const auto it = gpu_of_.find({pid, device});
  return it == gpu_of_.end() ? device : it->second;
}

std::string_view NsysNames::metricName(int64_t type, int64_t metric) const {
  const auto it = metrics_.find({type, metric});
  return it == metrics_.end() ? std::string_view{} : it->second;
}

void NsysNames::nameUsedIds(const Used& used) {
  for (const int64_t pid : used.pids) {
    const auto it = processes_.find(pid);
    if (it != processes_.end() && !it->second.empty()) builder_.nameProcess(pid, it->second);
  }
  for (const auto& [pid, tid] : used.tids) {
    const auto it = threads_.find({pid, tid});
    if (it == threads_.end()) continue;
    const std::string name(builder_.rows.text(text(it->second)));
    if (!name.empty()) builder_.nameThread(pid, tid, name);
  }
  std::set<int64_t> devices = used.devices;
  for (const auto& [id, gpu] : gpus_) devices.insert(id);
  for (const int64_t id : devices) {
    DeviceRow& row = builder_.deviceRow(id);
    row.backend = PlatformType::CUDA;
    row.vendor = builder_.text("NVIDIA");
    row.driver_version = builder_.text(driver_);
    const auto it = gpus_.find(id);
    if (it == gpus_.end()) continue;
    const Gpu& gpu = it->second;
    if (!gpu.name.empty()) row.name = builder_.text(gpu.name);
    row.pci_address = builder_.text(gpu.pci);
    row.uuid = builder_.text(gpu.uuid);
    const auto number = [](int64_t value) {
      return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX));
    };
    row.memory_bytes = static_cast<uint64_t>(std::max<int64_t>(gpu.memory, 0));
    row.compute_units = number(gpu.units);
    row.clock_mhz = number(gpu.clock_hz / 1'000'000);
    row.compute_major = number(gpu.major);
    row.compute_minor = number(gpu.minor);
    row.warp_size = number(gpu.warp);
    row.max_work_group_size = number(gpu.threads);
    row.max_threads_per_unit = number(std::clamp<int64_t>(gpu.warps, 0, 1 << 20) * row.warp_size);
  }
}

std::optional<int64_t> NsysNames::unixEpoch() const {
  int64_t epoch = 0;
  if (!normalised_ && utc_ns_ <= 0) return std::nullopt;
  if (__builtin_sub_overflow(normalised_ ? 0 : utc_ns_, shift_ns_, &epoch)) return std::nullopt;
  return epoch;
}

}  // namespace tracesmith::import
