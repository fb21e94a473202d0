// SPDX-License-Identifier: Apache-2.0
// The device that benchmark_10k_stacks launches on. Both drivers are found at run time, so that the
// program starts where neither is installed and can say so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace benchmark {

constexpr uint32_t kItems = 64;  ///< work items of a kernel

class Device {
 public:
  virtual ~Device() = default;
  /// Enqueues one kernel that repeats its arithmetic `work` times; `number` is its argument.
  virtual void launch(int number, int work) = 0;
  /// Waits for all that was launched.
  virtual void finish() = 0;

  std::string name;
  const char* api = "";  ///< "OpenCL" or "CUDA"
  bool is_gpu = false;
};

/// Null, with the reason added to `why`, where there is none. A failure after that ends the
/// program.
std::unique_ptr<Device> openOpenCl(bool gpu_only, std::string& why);
std::unique_ptr<Device> openCuda(std::string& why);

/// Ends the program with code 1.
[[noreturn]] void die(const char* what, int code);

}  // namespace benchmark
