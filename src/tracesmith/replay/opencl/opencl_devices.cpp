// SPDX-License-Identifier: Apache-2.0
// Chooses devices that replace those of the recording.
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

namespace {

struct Candidate {
  cl_device_id id;
  cl_device_type type;
  std::string name, platform, driver;
  std::string fullName() const { return platform + ": " + name; }
};

std::string text(const OpenClLibrary& cl, cl_device_id device, cl_device_info what) {
  char out[1024] = {};
  cl.clGetDeviceInfo(device, what, sizeof out - 1, out, nullptr);
  return out;
}

std::vector<Candidate> candidates(const OpenClLibrary& cl) {
  std::vector<Candidate> all;
  cl_uint count = 0;
  if (cl.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return all;
  std::vector<cl_platform_id> platforms(count);
  cl.clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_platform_id platform : platforms) {
    char platform_name[1024] = {};
    cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name,
                         nullptr);
    cl_uint n = 0;
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(n);
    cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr);
    for (const cl_device_id id : ids) {
      Candidate c{id, 0, text(cl, id, CL_DEVICE_NAME), platform_name,
                  text(cl, id, CL_DRIVER_VERSION)};
      cl.clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof c.type, &c.type, nullptr);
      all.push_back(c);
    }
  }
  return all;
}

std::string asText(Text t) { return {t.begin(), t.end()}; }

/// The device named by the user; nullptr with a reason if there is none.
Result<const Candidate*> named(const std::vector<Candidate>& all, const std::string& wanted) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(wanted.c_str(), &end, 10);
  if (*end == 0 && number < all.size()) return &all[number];
  for (const Candidate& c : all) {
    if (c.fullName().find(wanted) != std::string::npos) return &c;
  }
  std::string known;
  for (size_t i = 0; i < all.size(); ++i) known += fmt::format("\n  {}  {}", i, all[i].fullName());
  return fail(ErrorCode::kNotFound, "no OpenCL device has this name; available:" + known, wanted);
}

}  // namespace

Status OpenClExecutor::chooseDevices() {
  const std::vector<Candidate> all = candidates(cl_);
  if (all.empty()) {
    return fail(ErrorCode::kNotFound,
                "no OpenCL device is installed; pocl-opencl-icd has one that runs on any CPU");
  }
  const Candidate* chosen = nullptr;
  if (!options_.device.empty()) {
    TS_TRY(chosen, named(all, options_.device));
  }
  same_device_ = true;
  std::vector<const Candidate*> used;
  for (const ReplayStep& step : plan_.steps()) {
    Device recorded;
    if (step.kind() != CommandKind::kDevice || !decode(step.fields, recorded)) continue;
    const Candidate* stands_for = chosen;
    const auto best = [&](auto&& fits) {
      // Prefer a device that does not replace another one yet.
      for (const bool unused_only : {true, false}) {
        for (const Candidate& c : all) {
          const bool unused = std::find(used.begin(), used.end(), &c) == used.end();
          if (stands_for == nullptr && fits(c) && (unused || !unused_only)) stands_for = &c;
        }
      }
    };
    best([&](const Candidate& c) {
      return c.name == asText(recorded.name) && c.platform == asText(recorded.platform);
    });
    best([&](const Candidate& c) { return c.type == recorded.type; });
    best([&](const Candidate&) { return true; });
    used.push_back(stands_for);
    same_device_ = same_device_ && stands_for->name == asText(recorded.name) &&
                   stands_for->driver == asText(recorded.driver);
    objects_[step.object] = stands_for->id;
    if (device_name_.empty()) device_name_ = stands_for->fullName();
  }
  if (device_name_.empty()) {
    return fail(ErrorCode::kDamaged, "the recording names no device", reader_.path());
  }
  return {};
}

Result<std::unique_ptr<Executor>> openClExecutor(const ReplayPlan& plan, RecordingReader& reader,
                                                 const ExecutorOptions& options) {
  TS_TRY(const OpenClLibrary* library, openClLibrary());
  auto executor = std::make_unique<OpenClExecutor>(*library, plan, reader, options);
  TS_CHECK_OK(executor->chooseDevices());
  return executor;
}

}  // namespace tracesmith
