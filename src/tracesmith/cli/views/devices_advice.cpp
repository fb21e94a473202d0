// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/devices_advice.hpp"

#include "tracesmith/capture/system/kernel_symbols.hpp"
#include "tracesmith/capture/system/perf_events.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

namespace tracesmith::cli {
namespace {

/// ": apt install PACKAGES" on systems that have apt: elsewhere the packages have other names.
std::string installing(std::string_view packages) {
  const bool has_apt = access("/usr/bin/apt", X_OK) == 0;
  return has_apt ? fmt::format(": apt install {}", packages) : std::string();
}

bool isRecorded(const BackendReport& report) {
  return report.capture_supported && !report.devices.empty();
}

/// Whether this version has an agent for it.
bool hasAgent(PlatformType backend) {
  return backend == PlatformType::CUDA || backend == PlatformType::OpenCL;
}

void list(std::string& to, std::string_view what) {
  if (!to.empty()) to += ", ";
  to += what;
}

}  // namespace

std::string adviceFor(const BackendReport& report) {
  if (isRecorded(report) || !hasAgent(report.backend)) return {};
  const bool cuda = report.backend == PlatformType::CUDA;
  if (!report.library_found) {
    return cuda ? "install NVIDIA's driver" + installing("nvidia-driver") +
                      "; a container has to be started with it: docker run --gpus all"
                : "install OpenCL, here with a device that is the processor" +
                      installing("ocl-icd-libopencl1 pocl-opencl-icd");
  }
  if (!report.devices.empty()) {  // but this build, or this driver, cannot record them
    return report.driver_version != 0 && report.driver_version < kOldestCudaDriver
               ? "install a newer driver" + installing("nvidia-driver")
               : "install TraceSmith as a whole: the command alone records nothing";
  }
  return cuda ? "look with nvidia-smi whether the driver has a device; a container has to be "
                "started with it: docker run --gpus all"
              : "install the OpenCL driver of your device, or one for the processor" +
                    installing("pocl-opencl-icd");
}

namespace {

/// What profile --system can see, and what allows more.
std::string systemText() {
  const std::string more = howToAllowPerf();
  switch (perfRights()) {
    case PerfRights::kUserAndKernel:
      return std::string("Processors (profile --system): samples of programs and of the kernel, ") +
             "switches of threads" +
             (KernelSymbols::areVisible()
                  ? ".\n"
                  : "; names of the kernel's functions: sysctl kernel.kptr_restrict=0.\n");
    case PerfRights::kUser:
      return "Processors (profile --system): samples of programs, switches of threads; where they "
             "were in the kernel: " +
             more + ".\n";
    case PerfRights::kNothing:
      return "Processors (profile --system): nothing; " + more + ".\n";
  }
  return {};
}

}  // namespace

std::string nextStepsText(const std::vector<BackendReport>& reports) {
  std::string recorded, advice, without_agent;
  for (const BackendReport& report : reports) {
    if (isRecorded(report)) list(recorded, toString(report.backend));
    if (!hasAgent(report.backend)) list(without_agent, toString(report.backend));
    if (const std::string text = adviceFor(report); !text.empty()) {
      advice += fmt::format("  {:<7} {}\n", toString(report.backend), text);
    }
  }
  std::string out =
      recorded.empty()
          ? std::string("Nothing can be recorded here yet.\n")
          : fmt::format("Can be recorded here: {}. Next: tracesmith profile -- PROGRAM\n",
                        recorded);
  out += systemText();
  if (!advice.empty()) out += "Missing here:\n" + advice;
  if (!without_agent.empty()) {
    out += fmt::format("This version does not record {}; files of their tools: tracesmith import\n",
                       without_agent);
  }
  return out;
}

}  // namespace tracesmith::cli
