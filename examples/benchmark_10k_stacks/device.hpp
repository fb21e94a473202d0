// SPDX-License-Identifier: Apache-2.0
// The device on which benchmark_10k_stacks launches kernels. Both drivers are loaded at run time,
// so that the program starts without them and can say what is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace benchmark {

constexpr uint32_t kItems = 64;  ///< work-items per kernel

class Device {
 public:
  virtual ~Device() = default;
  /// Enqueues one kernel that repeats its arithmetic `work` times; `number` is its argument.
  virtual void launch(int number, int work) = 0;
  /// Waits for all launched kernels.
  virtual void finish() = 0;

  std::string name;
  const char* api = "";  ///< "OpenCL" or "CUDA"
  bool is_gpu = false;
};

/// Returns null and adds the reason to `why` if there is no device. A later failure ends the
/// program.
std::unique_ptr<Device> openOpenCl(bool gpu_only, std::string& why);
std::unique_ptr<Device> openCuda(std::string& why);

/// Ends the program with code 1.
[[noreturn]] void die(const char* what, int code);

}  // namespace benchmark
