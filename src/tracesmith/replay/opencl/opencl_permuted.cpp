// SPDX-License-Identifier: Apache-2.0
// Runs a launch with its work-groups in another order. OpenCL guarantees no order (3.0, 3.2.2), so
// the result of a kernel must not depend on it.
//
// The launch is split along its longest dimension into parts of whole work-groups, which run one
// after the other in a random order. The global offset gives every work-item its original global
// id. A kernel that queries other sizes or ids is recompiled for the launch, with macros that
// return the values of the whole launch: the sizes are known, and the group id follows from global
// ids.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tracesmith/replay/opencl/opencl_executor.hpp"
#include "tracesmith/replay/plan/kernel_text.hpp"
#include "tracesmith/replay/plan/random.hpp"

namespace tracesmith {

using namespace recording;

namespace {

constexpr size_t kMostParts = 16;
/// Each is a separate build.
constexpr size_t kMostCutKernels = 32;

/// Queries whose result differs in a part of the launch.
constexpr std::string_view kWholeLaunch[] = {"get_group_id", "get_num_groups", "get_global_size",
                                             "get_global_offset", "get_global_linear_id"};
constexpr std::string_view kPrints[] = {"printf"};
/// Without a local size from the program, the driver may choose another one for a part.
constexpr std::string_view kOfTheGroup[] = {
    "get_local_id", "get_local_size", "get_local_linear_id", "get_enqueued_local_size",
    "barrier",      "local",          "work_group_",         "sub_group_"};

bool mentions(std::string_view source, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return source.find(name) != std::string_view::npos;
  });
}

/// Lines to insert before a source so that it gets the values of the whole launch.
std::string linesForLaunch(std::span<const size_t> offset, std::span<const size_t> global,
                           std::span<const size_t> local) {
  std::string lines;
  const auto define = [&](std::string_view name, auto&& valueOf, size_t beyond) {
    lines += fmt::format("#define {}(d) ((size_t)(", name);
    for (size_t d = 0; d < global.size(); ++d) {
      lines += fmt::format("(d) == {} ? {} : ", d, valueOf(d));
    }
    lines += fmt::format("{}))\n", beyond);
  };
  const auto number = [](size_t n) { return fmt::format("(size_t){}UL", n); };
  define(
      "get_global_size", [&](size_t d) { return number(global[d]); }, 1);
  define(
      "get_global_offset", [&](size_t d) { return number(offset[d]); }, 0);
  define(
      "get_num_groups", [&](size_t d) { return number(global[d] / local[d]); }, 1);
  const auto groupOf = [&](size_t d) {
    return fmt::format("(get_global_id({}) - {}) / {}", d, number(offset[d]), number(local[d]));
  };
  define("get_group_id", groupOf, 0);
  std::string linear = "0";
  for (size_t d = global.size(); d-- > 0;) {
    linear = fmt::format("({} * {} + get_global_id({}) - {})", linear, number(global[d]), d,
                         number(offset[d]));
  }
  lines += fmt::format("#define get_global_linear_id() ((size_t){})\n#line 1\n", linear);
  return lines;
}

/// Seed 0: reversed, so that the order of every two parts is swapped.
std::vector<size_t> orderOfParts(size_t parts, uint64_t seed) {
  std::vector<size_t> order(parts);
  std::iota(order.begin(), order.end(), size_t{0});
  std::reverse(order.begin(), order.end());
  Random random(seed);
  for (size_t i = seed == 0 ? 0 : parts; i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

OpenClExecutor::CutKernel OpenClExecutor::cutKernel(ObjectIndex kernel, const std::string& lines) {
  const ObjectIndex program = plan_.object(kernel).parent;
  if (cut_kernels_.size() >= kMostCutKernels && !cut_kernels_.contains({kernel, lines})) return {};
  const auto [it, is_new] = cut_kernels_.try_emplace({kernel, lines});
  CutKernel& cut = it->second;
  if (!is_new || program == 0) return cut;
  CreateProgram made;
  const ReplayStep& creation = plan_.step(plan_.object(program).made_by);
  const auto options = built_with_.find(program);
  if (options == built_with_.end() || !decode(creation.fields, made) ||
      made.form != ProgramForm::kSource) {
    return cut;
  }
  const auto source = reader_.content(made.code);
  if (!source) return cut;
  const std::string text = lines + std::string(source->begin(), source->end());
  const char* whole = text.c_str();
  cl_int result = CL_SUCCESS;
  cut.program =
      cl_.clCreateProgramWithSource(live<cl_context>(creation.other), 1, &whole, nullptr, &result);
  if (cut.program == nullptr || cl_.clBuildProgram(cut.program, 0, nullptr, options->second.c_str(),
                                                   nullptr, nullptr) != CL_SUCCESS) {
    return cut;
  }
  cut.kernel = cl_.clCreateKernel(cut.program, plan_.kernelName(*step_).c_str(), &result);
  return cut;
}

void OpenClExecutor::releaseCutKernels() {
  for (const auto& [key, cut] : cut_kernels_) {
    if (cut.kernel != nullptr) cl_.clReleaseKernel(cut.kernel);
    if (cut.program != nullptr) cl_.clReleaseProgram(cut.program);
  }
}

OpenClExecutor::SizeQueries OpenClExecutor::findSizeQueries(ObjectIndex kernel,
                                                            bool without_local_size) {
  const ObjectIndex program = plan_.object(kernel).parent;
  const auto [it, is_new] =
      asks_.try_emplace(uint64_t{kernel} * 2 + (without_local_size ? 1 : 0), SizeQueries::kUnknown);
  if (!is_new) return it->second;
  CreateProgram made;
  if (program == 0 || !decode(plan_.step(plan_.object(program).made_by).fields, made) ||
      made.form != ProgramForm::kSource) {
    return it->second;
  }
  const auto source = reader_.content(made.code);
  if (!source) return it->second;
  const std::string text = kernelText(
      {reinterpret_cast<const char*>(source->data()), source->size()}, plan_.kernelName(*step_));
  // Included code and names pasted together by macros are not visible here.
  const bool hidden =
      text.find("#include") != std::string::npos || text.find("##") != std::string::npos;
  // printf output would appear in another order, and twice.
  const bool prints = mentions(text, kPrints);
  const bool group = without_local_size && (hidden || mentions(text, kOfTheGroup));
  if (prints || group) {
    it->second = SizeQueries::kUnknown;
  } else {
    it->second =
        hidden || mentions(text, kWholeLaunch) ? SizeQueries::kWholeLaunch : SizeQueries::kNothing;
  }
  return it->second;
}

/// The sizes of a launch that is split along its longest dimension.
struct OpenClExecutor::LaunchSizes {
  explicit LaunchSizes(const Launch& c)
      : global(c.global.begin(), c.global.end()),
        local(c.local.begin(), c.local.end()),
        offset(c.offset.begin(), c.offset.end()) {
    offset.resize(global.size());
    longest = static_cast<size_t>(std::max_element(global.begin(), global.end()) - global.begin());
    group = local.empty() ? 1 : local[longest];
  }
  bool hasSeveralGroups() const {
    return !global.empty() && group != 0 && global[longest] % group == 0 &&
           global[longest] / group >= 2;
  }
  size_t groups() const { return global[longest] / group; }
  /// True if the group id follows from the ids of its work-items.
  bool haveFixedGroups() const {
    bool fixed = local.size() == global.size();
    for (size_t i = 0; fixed && i < local.size(); ++i) {
      fixed = local[i] != 0 && global[i] % local[i] == 0;
    }
    return fixed;
  }

  std::vector<size_t> global, local, offset;
  size_t longest = 0;  // dimension
  size_t group = 1;    // work-items along it
};

StepOutcome OpenClExecutor::performPermuted(StepIndex launch, uint64_t seed) {
  index_ = launch;
  step_ = &plan_.step(launch);
  mode_ = StepMode::kAlone;
  problem_.clear();
  StepOutcome outcome;
  const auto refuse = [&](const char* why) {
    outcome.problem = why;
    return outcome;
  };
  Launch c;
  if (step_->kind() != CommandKind::kLaunch || !decode(step_->fields, c) || step_->object == 0 ||
      objects_[step_->object] == nullptr || queue() == nullptr) {
    return refuse("is not a launch that can be executed");
  }
  const SizeQueries queries = findSizeQueries(step_->object, c.local.empty());
  if (queries == SizeQueries::kUnknown)
    return refuse("it is unknown what the kernel queries of its launch");
  const LaunchSizes sizes(c);
  if (!sizes.hasSeveralGroups()) return refuse("has one work-group");
  if (!argumentsExist()) return refuse(problem_.c_str());
  auto* kernel = live<cl_kernel>(step_->object);
  if (queries == SizeQueries::kWholeLaunch) {
    // With a local size chosen by the driver, group ids are unpredictable.
    if (!sizes.haveFixedGroups() || exec_infos_.contains(step_->object)) {
      return refuse("the kernel queries its group or the global size");
    }
    kernel =
        cutKernel(step_->object, linesForLaunch(sizes.offset, sizes.global, sizes.local)).kernel;
    if (kernel == nullptr) return refuse("the kernel cannot be compiled for a part of its launch");
    for (const StepIndex argument : plan_.listOf(*step_)) {
      if (argument != kNoStep) outcome.result = applyArgument(kernel, argument);
      if (outcome.result != CL_SUCCESS) return outcome;
    }
  } else {
    outcome.result = applyArguments();
    if (outcome.result == CL_SUCCESS) outcome.result = applyExecInfos();
    if (outcome.result != CL_SUCCESS) return outcome;
  }
  outcome.result = enqueueParts(kernel, sizes, seed);
  outcome.executed = true;
  return outcome;
}

/// Enqueues the parts one after the other, until one fails.
cl_int OpenClExecutor::enqueueParts(cl_kernel kernel, const LaunchSizes& whole, uint64_t seed) {
  const size_t groups = whole.groups();
  const size_t parts = std::min(kMostParts, groups);
  std::vector<size_t> global = whole.global;
  std::vector<size_t> offset = whole.offset;
  cl_int result = CL_SUCCESS;
  for (const size_t part : orderOfParts(parts, seed)) {
    const size_t begin = groups * part / parts * whole.group;
    const size_t end = groups * (part + 1) / parts * whole.group;
    offset[whole.longest] = whole.offset[whole.longest] + begin;
    global[whole.longest] = end - begin;
    result = cl_.clEnqueueNDRangeKernel(
        queue(), kernel, static_cast<cl_uint>(global.size()), offset.data(), global.data(),
        whole.local.empty() ? nullptr : whole.local.data(), 0, nullptr, nullptr);
    if (result == CL_SUCCESS) result = cl_.clFinish(queue());
    if (result != CL_SUCCESS) break;
  }
  return result;
}

}  // namespace tracesmith
