// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/agentless_processes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {
namespace {

// Reading the mappings of a large program takes some 100 us. A small program loads its driver
// early: a preloaded oclgrind is there within milliseconds.
constexpr int64_t kFirstPauseNs = 10'000'000;
constexpr int64_t kLongestPauseNs = 5'000'000'000;

// Libraries that OpenCL loaders or CUDA programs load when they use a device. The loader itself is
// not listed, because many programs are linked to it but never call it.
constexpr std::array<std::string_view, 8> kDrivers = {
    "libcuda.so",   "libnvidia-opencl.so", "libpocl.so",          "libamdocl64.so",
    "libigdrcl.so", "libMesaOpenCL.so",    "libRusticlOpenCL.so", "liboclgrind"};

// oclgrind, when preloaded, defines OpenCL's functions before any loader does.
constexpr std::string_view kPreloadedDriver = "liboclgrind-rt.so";

bool knowsLayers(const std::string& loader) {
  const std::string bytes = readFileText(loader).value_or("");
  return bytes.empty() || bytes.find("OPENCL_LAYERS") != std::string::npos;
}

}  // namespace

LoadedDriver gpuDriverIn(const std::string& maps, const std::string& session_dir) {
  LoadedDriver found;
  for (size_t at = 0; at < maps.size();) {
    const size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string_view line = std::string_view(maps).substr(at, end - at);
    at = end + 1;
    const size_t path = line.find('/');
    if (path == std::string_view::npos) continue;
    if (line.substr(path).starts_with(session_dir + "/")) return {};
    const std::string_view name = line.substr(line.rfind('/') + 1);
    if (name.starts_with("libOpenCL")) found.loader = line.substr(path);
    for (const std::string_view driver : kDrivers) {
      if (name.starts_with(driver)) found.path = line.substr(path);
    }
  }
  if (found.path.empty()) return {};
  return found;
}

std::string whyAgentless(const LoadedDriver& driver, const std::string& session_dir) {
  if (driver.name().starts_with(kPreloadedDriver)) {
    return "calls to " + driver.path +
           ", if there were any, pass no OpenCL loader that would call the agent; let the loader "
           "load the driver instead (OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so "
           "tracesmith profile ... -- PROGRAM)";
  }
  if (!driver.loader.empty() && !knowsLayers(driver.loader)) {
    return "its OpenCL loader, " + driver.loader +
           ", does not know OPENCL_LAYERS; try --inject preload";
  }
  return "either it made no call, or the agent in it could not reach " + session_dir +
         "; give -o a path that the program sees under the same name";
}

void AgentlessProcesses::inspect(const std::vector<Key>& running, int64_t now_ns) {
  std::map<Key, NextInspection> due;
  for (const Key& key : running) {
    const auto known = due_.find(key);
    NextInspection next =
        known != due_.end() ? known->second : NextInspection{now_ns + kFirstPauseNs, kFirstPauseNs};
    if (now_ns >= next.at_ns && found_.count(key) == 0) {
      next.pause_ns = std::min(next.pause_ns * 2, kLongestPauseNs);
      next.at_ns = now_ns + next.pause_ns;
      const std::string maps = readFileText(liveProcPath(key.first, "maps")).value_or("");
      if (LoadedDriver driver = gpuDriverIn(maps, session_dir_); !driver.path.empty()) {
        found_.emplace(key, std::move(driver));
      }
    }
    due.emplace(key, next);
  }
  due_ = std::move(due);
}

}  // namespace tracesmith
