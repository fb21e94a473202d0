// SPDX-License-Identifier: Apache-2.0
// A launch with its work-groups in another order: OpenCL promises none (3.0, 3.2.2), so that what a
// kernel leaves must not depend on it. The launch is cut into parts along its longest dimension,
// each of whole work-groups, that run one after the other in an order drawn at random; the global
// offset gives every work-item the global id that it had.
#include <algorithm>
#include <numeric>

#include "tracesmith/replay/kernel_text.hpp"
#include "tracesmith/replay/opencl/opencl_executor.hpp"
#include "tracesmith/replay/random.hpp"

namespace tracesmith {

using namespace recording;

namespace {

constexpr size_t kMostParts = 16;

/// What a kernel can ask for that is another in a part of its launch.
constexpr std::string_view kOfTheWhole[] = {"get_group_id",         "get_num_groups",
                                            "get_global_size",      "get_global_offset",
                                            "get_global_linear_id", "printf"};
/// Without a local size of the program's the driver may choose another for a part.
constexpr std::string_view kOfTheGroup[] = {
    "get_local_id", "get_local_size", "get_local_linear_id", "get_enqueued_local_size",
    "barrier",      "local",          "work_group_",         "sub_group_"};

bool mentions(std::string_view source, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return source.find(name) != std::string_view::npos;
  });
}

}  // namespace

bool OpenClExecutor::asksForItsSize(ObjectIndex kernel, bool without_local_size) {
  const ObjectIndex program = plan_.object(kernel).parent;
  const auto [it, is_new] =
      asks_.try_emplace(uint64_t{kernel} * 2 + (without_local_size ? 1 : 0), true);
  if (!is_new) return it->second;
  CreateProgram made;
  if (program == 0 || !decode(plan_.step(plan_.object(program).made_by).fields, made) ||
      made.form != ProgramForm::kSource) {
    return true;
  }
  const auto source = reader_.content(made.code);
  if (!source) return true;
  const std::string text = kernelText(
      {reinterpret_cast<const char*>(source->data()), source->size()}, plan_.kernelName(*step_));
  // What is included, or pasted together by macros, is not seen.
  const bool hidden =
      text.find("#include") != std::string::npos || text.find("##") != std::string::npos;
  it->second =
      hidden || mentions(text, kOfTheWhole) || (without_local_size && mentions(text, kOfTheGroup));
  return it->second;
}

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
    return refuse("is no launch that can be made");
  }
  if (asksForItsSize(step_->object, c.local.empty())) {
    return refuse("the kernel may ask for its group or the global size");
  }
  std::vector<size_t> global(c.global.begin(), c.global.end());
  std::vector<size_t> local(c.local.begin(), c.local.end());
  std::vector<size_t> offset(c.offset.begin(), c.offset.end());
  offset.resize(global.size());
  const auto longest = std::max_element(global.begin(), global.end());
  const auto d = static_cast<size_t>(longest - global.begin());
  const size_t group = local.empty() ? 1 : local[d];
  if (global.empty() || group == 0 || *longest % group != 0 || *longest / group < 2) {
    return refuse("has one work-group");
  }
  const size_t groups = *longest / group;
  const size_t parts = std::min(kMostParts, groups);
  std::vector<size_t> order(parts);
  std::iota(order.begin(), order.end(), size_t{0});
  // Backwards, each part is on the other side of each other.
  std::reverse(order.begin(), order.end());
  Random random(seed);
  for (size_t i = seed == 0 ? 0 : parts; i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  if (!argumentsAreThere()) return refuse(problem_.c_str());
  if (const cl_int result = applyArguments(); result != CL_SUCCESS) {
    outcome.result = result;
    return outcome;
  }
  if (const cl_int result = applyExecInfos(); result != CL_SUCCESS) {
    outcome.result = result;
    return outcome;
  }
  const size_t first_offset = offset[d];
  for (const size_t part : order) {
    const size_t begin = groups * part / parts * group;
    const size_t end = groups * (part + 1) / parts * group;
    offset[d] = first_offset + begin;
    global[d] = end - begin;
    outcome.result = cl_.clEnqueueNDRangeKernel(
        queue(), live<cl_kernel>(step_->object), static_cast<cl_uint>(global.size()), offset.data(),
        global.data(), local.empty() ? nullptr : local.data(), 0, nullptr, nullptr);
    if (outcome.result == CL_SUCCESS) outcome.result = cl_.clFinish(queue());
    if (outcome.result != CL_SUCCESS) break;
  }
  outcome.executed = true;
  return outcome;
}

}  // namespace tracesmith
