// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/kernel_name.hpp"

#include <algorithm>

#include "tracesmith/analysis/kernel_names/coded_name.hpp"
#include "tracesmith/analysis/kernel_names/family_rules.hpp"
#include "tracesmith/analysis/kernel_names/function_name.hpp"
#include "tracesmith/analysis/kernel_names/template_hints.hpp"
#include "tracesmith/analysis/kernel_names/triton_name.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLongestShortName = 72;
// Mangled names of kernels with thousands of bytes say the important in the first ones.
constexpr size_t kMangledBytes = 768;
// Rules look for words of the operation, which comes early; data types come after it.
constexpr size_t kOperationBytes = 128;
constexpr size_t kOperationWithArgumentsBytes = 224;
// Coded names up to this length can be read as they are: ampere_sgemm_32x32_sliced1x4_tn.
constexpr size_t kReadableCodedName = 32;

/// Functions that only call the kernel given as template argument: CUTLASS, CK, rocPRIM, Thrust.
bool isWrapperFunction(std::string_view name) {
  constexpr std::string_view kNames[] = {"Kernel",        "Kernel2",           "device_kernel",
                                         "kentry",        "trampoline_kernel", "kernel_agent",
                                         "_kernel_agent", "launch_kernel"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// The innermost namespace of a scope: "gemvx" of "internal::gemvx::".
std::string_view lastScope(std::string_view scope) {
  if (scope.ends_with("::")) scope.remove_suffix(2);
  const size_t at = scope.rfind("::");
  return at == std::string_view::npos ? scope : scope.substr(at + 2);
}

std::string bracketed(std::string_view base, std::initializer_list<std::string_view> details) {
  size_t size = base.size() + 2;
  for (const std::string_view detail : details) size += detail.size() + 2;
  std::string out;
  out.reserve(size);
  out += base;
  bool any = false;
  for (const std::string_view detail : details) {
    if (detail.empty()) continue;
    out += any ? ", " : "<";
    out += detail;
    any = true;
  }
  if (any) out += '>';
  return out;
}

/// Cuts at a place where no UTF-8 sequence is torn.
void limit(std::string& name) {
  if (name.size() <= kLongestShortName) return;
  size_t end = kLongestShortName - 3;
  while (end > 0 && (static_cast<uint8_t>(name[end]) & 0xc0) == 0x80) --end;
  name.resize(end);
  name += "...";
}

void readCodes(std::string_view name, KernelName& out) {
  CodedName coded = readCodedName(name);
  const bool has_codes = !coded.tile.empty();
  if (has_codes && name.size() > kReadableCodedName && !coded.operation.empty()) {
    out.short_name = bracketed(coded.operation, {coded.data_type, coded.tile, coded.layout});
  } else {
    out.short_name = name;
  }
  out.data_type = std::move(coded.data_type);
  if (!has_codes) return;
  out.tile = std::move(coded.tile);
  out.layout = std::move(coded.layout);
}

void readFunction(const FunctionName& function, KernelName& out) {
  const TemplateHints hints =
      readTemplateHints(function.template_arguments.substr(0, kUnderstoodBytes));
  if (isWrapperFunction(function.name) && !hints.first.empty()) {
    // cutlass::Kernel2<cutlass_80_tensorop_...>: the argument is a name by itself.
    readCodes(hints.first, out);
    if (out.tile.empty()) {
      out.short_name = bracketed(hints.operation, {hints.data_type});
      out.data_type = hints.data_type;
    }
    return;
  }
  if (function.template_arguments.empty()) {
    readCodes(function.name, out);
    return;
  }
  std::string base = shortenedIdentifier(function.name);
  if (base == "kernel" || base == "run") {
    base = std::string(lastScope(function.scope)) + "::" + base;
  }
  out.data_type = hints.data_type;
  out.short_name = bracketed(base, {hints.operation, hints.data_type});
}

}  // namespace

KernelName readKernelName(std::string_view full) {
  full = full.substr(0, kExaminedBytes);
  std::string readable;
  if (full.starts_with("_Z")) {
    readable = readMangledName(full.substr(0, kMangledBytes));
    full = readable;
  }
  // The loader of HSA adds ".kd" to names of kernels.
  if (full.size() > 3 && full.ends_with(".kd")) full.remove_suffix(3);
  KernelName out;
  if (isInductorName(full)) {
    out.family = inductorFamily(full);
    out.short_name = full;
    limit(out.short_name);
    return out;
  }
  const FunctionName function = splitFunctionName(full);
  const size_t examined =
      function.template_arguments.empty() ? kOperationBytes : kOperationWithArgumentsBytes;
  out.family = familyByRules(function.head.substr(0, examined),
                             function.scope.size() + function.name.size());
  readFunction(function, out);
  if (out.short_name.empty()) out.short_name = full;
  limit(out.short_name);
  return out;
}

}  // namespace tracesmith
