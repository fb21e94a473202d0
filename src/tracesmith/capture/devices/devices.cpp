// SPDX-License-Identifier: Apache-2.0
// Each backend's library is asked in a child process, and its reply comes back as bytes.
#include "tracesmith/capture/devices/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/devices/asked_children.hpp"
#include "tracesmith/capture/devices/device_probe.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kMaxItems = 65536;

Bytes encode(const BackendReport& report) {
  Bytes out;
  putFixed<uint8_t>(out, report.library_found);
  putText(out, report.library);
  putText(out, report.path);
  putText(out, report.problem);
  putFixed(out, report.driver_version);
  putFixed(out, static_cast<uint32_t>(report.looked_in.size()));
  for (const std::string& place : report.looked_in) putText(out, place);
  putFixed(out, static_cast<uint32_t>(report.strings.size()));
  for (uint32_t i = 0; i < report.strings.size(); ++i)
    putText(out, report.strings.at(idAt<StringId>(i)));
  DeviceTable table;
  for (const DeviceRow& row : report.devices) table.push(row);
  putFixed(out, static_cast<uint32_t>(table.size()));
  DeviceTable::visitColumns(table, [&](const ColumnInfo&, const auto& column) {
    for (const auto& value : column) putFixed(out, value);
  });
  putFixed<uint8_t>(out, 0x5a);  // end marker: the reply is complete
  return out;
}

bool decode(ByteView bytes, BackendReport& report) {
  ByteReader in(bytes);
  report.library_found = in.fixed<uint8_t>() != 0;
  report.library = takeText(in);
  report.path = takeText(in);
  report.problem = takeText(in);
  report.driver_version = in.fixed<uint32_t>();
  const uint32_t places = std::min(in.fixed<uint32_t>(), kMaxItems);
  for (uint32_t i = 0; i < places && in.ok(); ++i) report.looked_in.push_back(takeText(in));
  const uint32_t strings = std::min(in.fixed<uint32_t>(), kMaxItems);
  for (uint32_t i = 0; i < strings && in.ok(); ++i) report.strings.append(takeText(in));
  DeviceTable table;
  table.resize(std::min(in.fixed<uint32_t>(), kMaxItems));
  DeviceTable::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    for (auto& value : column) value = in.fixed<std::decay_t<decltype(value)>>();
  });
  if (in.fixed<uint8_t>() != 0x5a || !in.ok()) return false;
  for (size_t i = 0; i < table.size(); ++i) report.devices.push_back(table.row(i));
  return true;
}

/// `report`: its backend is set.
void take(const ChildReply& reply, BackendReport& report) {
  BackendReport decoded;
  decoded.backend = report.backend;
  if (decode(reply.bytes, decoded)) {
    report = std::move(decoded);
  } else if (!reply.failure.empty()) {
    report.problem = fmt::format("cannot ask the vendor's library: {}", reply.failure);
  } else {
    report.problem = fmt::format("the {} library {}", toString(report.backend), reply.problem);
  }
}

/// Sets whether this build can record the backend through the driver found, and otherwise why not.
void noteCapture(BackendReport& report) {
  const bool cuda = report.backend == PlatformType::CUDA;
  if (!cuda && report.backend != PlatformType::OpenCL) {
    report.capture_problem = "this version has no agent for it";
    return;
  }
  const auto agent = findAgentLibrary(cuda ? kCudaAgent : "libtracesmith-opencl.so");
  if (!agent) {
    report.capture_problem = agent.error().toString();
  } else if (cuda && report.driver_version != 0 && report.driver_version < kOldestCudaDriver) {
    report.capture_problem =
        fmt::format("{} is too old: it knows CUDA {}, and {} or newer is needed", report.library,
                    cudaVersionText(report.driver_version), cudaVersionText(kOldestCudaDriver));
  }
  report.capture_supported = report.capture_problem.empty();
}

}  // namespace

std::string cudaVersionText(uint32_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<BackendReport> probeBackends(const std::vector<PlatformType>& backends,
                                         const ProbeOptions& options) {
  std::vector<BackendReport> reports(backends.size());
  std::vector<std::function<Bytes()>> questions;
  std::vector<BackendReport*> asked;
  for (size_t i = 0; i < backends.size(); ++i) {
    reports[i].backend = backends[i];
    if (backends[i] == PlatformType::CUDA && options.search_first.empty() && cudaIsInUse()) {
      probeBackend(reports[i], {});
      continue;
    }
    asked.push_back(&reports[i]);
    questions.push_back([backend = backends[i], &options] {
      BackendReport report;
      report.backend = backend;
      probeBackend(report, options.search_first);
      return encode(report);
    });
  }
  const std::vector<ChildReply> replies = askInChildren(questions, options.timeout_ms);
  for (size_t i = 0; i < replies.size(); ++i) take(replies[i], *asked[i]);
  for (BackendReport& report : reports) noteCapture(report);
  return reports;
}

const BackendReport& backendReport(PlatformType backend) {
  static std::mutex mutex;
  static std::map<PlatformType, BackendReport> reports;  // a map, so that references stay valid
  const std::lock_guard lock(mutex);
  const auto known = reports.find(backend);
  if (known != reports.end()) return known->second;
  return reports.emplace(backend, std::move(probeBackends({backend}, {}).at(0))).first->second;
}

std::vector<BackendReport> probeBackends() {
  return probeBackends(
      {PlatformType::CUDA, PlatformType::ROCm, PlatformType::Metal, PlatformType::MACA,
       PlatformType::Ascend, PlatformType::OpenCL, PlatformType::Vulkan},
      {});
}

}  // namespace tracesmith
