// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/other_tools.hpp"

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "tracesmith/capture/agents/cuda/record_writer.hpp"

namespace tracesmith::agent {
namespace {

/// Parts of file names of libraries that use CUPTI, and the name under which users know the tool.
struct KnownTool {
  const char* file;
  const char* name;
};
constexpr KnownTool kKnownTools[] = {
    {"libtorch_c", "PyTorch's profiler (Kineto)"},
    {"libkineto", "PyTorch's profiler (Kineto)"},
    {"libproton", "Triton's Proton"},
    {"libToolsInjection", "Nsight Systems"},
    {"jax_common", "JAX's profiler (XLA)"},
    {"xla_extension", "JAX's profiler (XLA)"},
    {"libtensorflow", "TensorFlow's profiler"},
    {"libscorep", "Score-P"},
    {"libhpcrun", "HPCToolkit"},
    {"libTAU", "TAU"},
};
constexpr size_t kCount = sizeof kKnownTools / sizeof *kKnownTools;

}  // namespace

void describeOtherTools(char* out, size_t bytes) {
  bool found[kCount] = {};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const char* const slash = strrchr(info->dlpi_name, '/');
        const char* const file = slash != nullptr ? slash + 1 : info->dlpi_name;
        for (size_t i = 0; i < kCount; ++i) {
          if (strstr(file, kKnownTools[i].file) != nullptr) static_cast<bool*>(data)[i] = true;
        }
        return 0;
      },
      found);
  size_t length = 0;
  out[0] = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const char* const name = kKnownTools[i].name;
    if (!found[i] || strstr(out, name) != nullptr) continue;
    const int wrote = snprintf(out + length, bytes - length, "%s%s", length > 0 ? ", " : "", name);
    if (wrote < 0 || static_cast<size_t>(wrote) >= bytes - length) return;
    length += static_cast<size_t>(wrote);
  }
}

void reportOtherTools() {
  char names[256];
  describeOtherTools(names, sizeof names);
  if (names[0] == 0) return;
  TextRecord record;
  const size_t bytes = fillText(record, arena::CudaText::kOtherTools, 0, names, 0);
  putRecord(&record, bytes, false);
}

}  // namespace tracesmith::agent
