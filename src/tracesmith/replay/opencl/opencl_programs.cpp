// SPDX-License-Identifier: Apache-2.0
// Creates and builds programs and kernels, and sets the arguments of launches.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tracesmith/replay/opencl/opencl_executor.hpp"
#include "tracesmith/replay/run/included_files.hpp"

namespace tracesmith {

using namespace recording;

cl_program OpenClExecutor::fromBinary(ByteView code, const CreateProgram& c, cl_int& result) {
  std::vector<cl_device_id> devices;
  std::vector<size_t> sizes;
  std::vector<const unsigned char*> binaries;
  uint64_t at = 0;
  const std::span<const uint32_t> objects = plan_.listOf(*step_);
  for (size_t i = 0; i < c.sizes.size() && i < objects.size(); ++i) {
    if (c.sizes[i] > code.size() - at) break;
    devices.push_back(live<cl_device_id>(objects[i]));
    sizes.push_back(c.sizes[i]);
    binaries.push_back(code.data() + at);
    at += c.sizes[i];
  }
  cl_program program = cl_.clCreateProgramWithBinary(
      live<cl_context>(step_->other), static_cast<cl_uint>(devices.size()), devices.data(),
      sizes.data(), binaries.data(), nullptr, &result);
  if (result != CL_SUCCESS && step_->header.result == CL_SUCCESS && !same_device_) {
    problem("the program is a binary of another device: " + openClError(result));
  }
  return program;
}

cl_program OpenClExecutor::linked(const CreateProgram& c, cl_int& result) {
  std::vector<cl_program> inputs;
  for (const uint32_t object : plan_.listOf(*step_)) inputs.push_back(live<cl_program>(object));
  const std::string options(c.options.begin(), c.options.end());
  return cl_.clLinkProgram(live<cl_context>(step_->other), 0, nullptr, options.c_str(),
                           static_cast<cl_uint>(inputs.size()), inputs.data(), nullptr, nullptr,
                           &result);
}

cl_int OpenClExecutor::call(const CreateProgram& c) {
  Bytes code;
  if (c.code.bytes != 0) {
    auto found = content(c.code, c.code.bytes);
    if (!found) return CL_SUCCESS;
    code = std::move(*found);
  }
  auto* const context = live<cl_context>(step_->other);
  cl_int result = CL_SUCCESS;
  cl_program program = nullptr;
  called_ = true;
  switch (c.form) {
    case ProgramForm::kSource: {
      const char* text = reinterpret_cast<const char*>(code.data());
      const size_t bytes = code.size();
      program = cl_.clCreateProgramWithSource(context, 1, &text, &bytes, &result);
      break;
    }
    case ProgramForm::kBinary:
      program = fromBinary(code, c, result);
      break;
    case ProgramForm::kIl:
      if (cl_.clCreateProgramWithIL == nullptr) {
        called_ = false;
        problem("this OpenCL loader does not support intermediate languages");
        return CL_SUCCESS;
      }
      program = cl_.clCreateProgramWithIL(context, code.data(), code.size(), &result);
      break;
    case ProgramForm::kBuiltIn: {
      const std::string names(code.begin(), code.end());
      const std::vector<cl_device_id> devices = devicesOf(*step_);
      if (cl_.clCreateProgramWithBuiltInKernels != nullptr) {
        program = cl_.clCreateProgramWithBuiltInKernels(
            context, static_cast<cl_uint>(devices.size()), devices.data(), names.c_str(), &result);
      }
      break;
    }
    case ProgramForm::kLinked:
      program = linked(c, result);
      break;
  }
  keep(step_->object, program);
  return result;
}

/// A program with kernels cannot be built again (CL_INVALID_OPERATION), and when objects are kept
/// the kernels of the previous build still exist. Those kernels keep a reference to their program.
void OpenClExecutor::recreate(ObjectIndex program) {
  const ReplayStep* const build = step_;
  const uint32_t references = references_[program];
  auto* const before = live<cl_program>(program);
  step_ = &plan_.step(plan_.object(program).made_by);
  CreateProgram made;
  if (decode(step_->fields, made) && made.form != ProgramForm::kLinked &&
      call(made) == CL_SUCCESS && objects_[program] != before) {
    cl_.clReleaseProgram(before);
  } else {
    objects_[program] = before;
  }
  references_[program] = references;
  step_ = build;
}

cl_int OpenClExecutor::call(const BuildProgram& c) {
  if (step_->header.result == CL_SUCCESS && !exists(step_->object)) return CL_SUCCESS;
  const bool again = step_->object != 0 && c.compile_only == 0 &&
                     step_->header.result == CL_SUCCESS && !built_.insert(step_->object).second;
  if (again && keep_objects_) recreate(step_->object);
  auto* const program = live<cl_program>(step_->object);
  std::string options(c.options.begin(), c.options.end());
  if (const auto folder = folders_.find(step_->object); folder != folders_.end()) {
    options = optionsBelow(options_.include_folder, folder->second, options);
  }
  if (!options_.build_options.empty()) options += " " + options_.build_options;
  // The option does not change the code, but lets the driver report the types of arguments.
  if (options.find("-cl-kernel-arg-info") == std::string::npos) options += " -cl-kernel-arg-info";
  built_with_[step_->object] = options;
  called_ = true;
  cl_int result = CL_SUCCESS;
  if (c.compile_only != 0) {
    std::vector<cl_program> headers;
    for (const uint32_t object : plan_.listOf(*step_)) headers.push_back(live<cl_program>(object));
    std::vector<const char*> names;
    for (size_t at = 0; at < c.header_names.size() && names.size() < headers.size();) {
      names.push_back(c.header_names.data() + at);
      at += strnlen(c.header_names.data() + at, c.header_names.size() - at) + 1;
    }
    if (names.size() < headers.size() || (!c.header_names.empty() && c.header_names.back() != 0)) {
      called_ = false;
      problem("the names of its headers are damaged");
      return CL_SUCCESS;
    }
    result = cl_.clCompileProgram(program, 0, nullptr, options.c_str(),
                                  static_cast<cl_uint>(headers.size()),
                                  headers.empty() ? nullptr : headers.data(),
                                  names.empty() ? nullptr : names.data(), nullptr, nullptr);
  } else {
    result = cl_.clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr);
  }
  if (result != CL_SUCCESS && step_->header.result == CL_SUCCESS) {
    std::string log(16384, '\0');
    for (const ReplayStep& made : plan_.steps()) {
      if (made.kind() != CommandKind::kDevice) continue;
      size_t bytes = 0;
      if (cl_.clGetProgramBuildInfo(program, live<cl_device_id>(made.object), CL_PROGRAM_BUILD_LOG,
                                    log.size(), log.data(), &bytes) == CL_SUCCESS) {
        log.resize(std::min(bytes, log.size()));
        break;
      }
    }
    log.resize(std::min(log.find('\0'), log.size()));
    problem("the program no longer compiles: " + openClError(result) + "\n" + log);
  }
  return result;
}

cl_int OpenClExecutor::call(const IncludedFile& c) {
  if (options_.include_folder.empty() || step_->object == 0) return CL_SUCCESS;
  const auto bytes = content(c.content, c.content.bytes);
  if (!bytes) return CL_SUCCESS;
  const Status laid_out =
      layOutIncludedFile(options_.include_folder, {c.path.data(), c.path.size()}, *bytes);
  if (!laid_out) problem(laid_out.error().toString());
  folders_[step_->object].assign(c.folder.begin(), c.folder.end());
  return CL_SUCCESS;
}

cl_int OpenClExecutor::call(const CreateKernel& c) {
  if (step_->header.result == CL_SUCCESS && !exists(step_->other)) return CL_SUCCESS;
  const std::string name(c.name.begin(), c.name.end());
  cl_int result = CL_SUCCESS;
  called_ = true;
  // A null name fails in another way than an empty one.
  const bool no_name = name.empty() && step_->header.result == CL_INVALID_VALUE;
  keep(step_->object, cl_.clCreateKernel(live<cl_program>(step_->other),
                                         no_name ? nullptr : name.c_str(), &result));
  return result;
}

cl_int OpenClExecutor::call(const CloneKernel&) {
  // Creates a new kernel of the same name; its arguments are set at its launch.
  const ReplayStep* original = step_;
  for (int clones = 0; original->kind() == CommandKind::kCloneKernel && clones < 100; ++clones) {
    if (original->other == 0) break;
    original = &plan_.step(plan_.object(original->other).made_by);
  }
  CreateKernel made;
  cl_int result = CL_INVALID_KERNEL;
  called_ = true;
  if (original->kind() == CommandKind::kCreateKernel && decode(original->fields, made)) {
    const std::string name(made.name.begin(), made.name.end());
    keep(step_->object,
         cl_.clCreateKernel(live<cl_program>(original->other), name.c_str(), &result));
  }
  const auto infos = exec_infos_.find(step_->other);
  if (infos != exec_infos_.end() && step_->object != 0) {
    exec_infos_[step_->object] = std::map(infos->second);
    for (auto& [info_name, info] : exec_infos_[step_->object]) info.now = kNoStep;
  }
  return result;
}

void* OpenClExecutor::svmAddress(Handle address, ObjectIndex memory) const {
  if (memory == 0 || objects_[memory] == nullptr) return nullptr;
  return static_cast<char*>(objects_[memory]) + (address - plan_.object(memory).handle);
}

cl_int OpenClExecutor::applyArgument(cl_kernel kernel, StepIndex argument) {
  const ReplayStep& set = plan_.step(argument);
  SetArgument c;
  if (!decode(set.fields, c)) return CL_INVALID_ARG_VALUE;
  const auto index = static_cast<cl_uint>(c.index);
  switch (c.form) {
    case ArgumentForm::kLocal:
    case ArgumentForm::kNull:
      return cl_.clSetKernelArg(kernel, index, c.bytes, nullptr);
    case ArgumentForm::kSvm: {
      Handle address = 0;
      std::memcpy(&address, c.value.data(), std::min(sizeof address, c.value.size()));
      if (cl_.clSetKernelArgSVMPointer == nullptr) return CL_INVALID_OPERATION;
      return cl_.clSetKernelArgSVMPointer(kernel, index, svmAddress(address, set.other));
    }
    case ArgumentForm::kValue:
      break;
  }
  if (set.other != 0) {
    void* const handle = objects_[set.other];
    return cl_.clSetKernelArg(kernel, index, sizeof handle, static_cast<const void*>(&handle));
  }
  return cl_.clSetKernelArg(kernel, index, c.bytes, c.value.empty() ? nullptr : c.value.data());
}

cl_int OpenClExecutor::applyArguments() {
  const std::span<const uint32_t> wanted = plan_.listOf(*step_);
  std::vector<StepIndex>& set = arguments_[step_->object];
  set.resize(std::max(set.size(), wanted.size()), kNoStep);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (set[i] == wanted[i]) continue;
    if (wanted[i] == kNoStep) continue;
    const cl_int result = applyArgument(live<cl_kernel>(step_->object), wanted[i]);
    if (result != CL_SUCCESS) {
      problem(fmt::format("argument {} of {} cannot be set: {}", i, plan_.kernelName(*step_),
                          openClError(result)));
      return result;
    }
    set[i] = wanted[i];
  }
  return CL_SUCCESS;
}

std::string OpenClExecutor::argumentType(StepIndex launch, uint32_t argument) const {
  char name[256] = {};
  auto* const kernel = live<cl_kernel>(plan_.step(launch).object);
  if (kernel == nullptr || cl_.clGetKernelArgInfo(kernel, argument, CL_KERNEL_ARG_TYPE_NAME,
                                                  sizeof name - 1, name, nullptr) != CL_SUCCESS) {
    return {};
  }
  return name;
}

cl_int OpenClExecutor::call(const SetArgument& c) {
  called_ = true;
  // A successful call is applied at the launch, because launches may come in another order.
  if (step_->header.result == CL_SUCCESS) return CL_SUCCESS;
  const cl_int result = applyArgument(live<cl_kernel>(step_->object), index_);
  auto set = arguments_.find(step_->object);
  if (set != arguments_.end() && c.index < set->second.size()) set->second[c.index] = kNoStep;
  return result;
}

cl_int OpenClExecutor::applyExecInfo(StepIndex info) {
  const ReplayStep& set = plan_.step(info);
  SetExecInfo c;
  if (!decode(set.fields, c)) return CL_INVALID_VALUE;
  Bytes value(c.value.begin(), c.value.end());
  if (c.name == CL_KERNEL_EXEC_INFO_SVM_PTRS) {
    value.clear();
    const std::span<const uint32_t> memory = plan_.listOf(set);
    for (size_t i = 0; i < memory.size(); ++i) {
      void* const now =
          svmAddress(loadFixed<Handle>(c.value.data() + i * sizeof(Handle)), memory[i]);
      // The kernel cannot use memory released since.
      if (now == nullptr && set.header.result == CL_SUCCESS) continue;
      const auto* const bytes = reinterpret_cast<const uint8_t*>(&now);
      value.insert(value.end(), bytes, bytes + sizeof now);
    }
    if (value.empty() && set.header.result == CL_SUCCESS) return CL_SUCCESS;
  }
  return cl_.clSetKernelExecInfo(live<cl_kernel>(set.object),
                                 static_cast<cl_kernel_exec_info>(c.name), value.size(),
                                 value.data());
}

cl_int OpenClExecutor::applyExecInfos() {
  const auto infos = exec_infos_.find(step_->object);
  if (infos == exec_infos_.end()) return CL_SUCCESS;
  for (auto& [name, info] : infos->second) {
    const auto next = info.calls.lower_bound(index_);
    if (next == info.calls.begin() || *std::prev(next) == info.now) continue;
    const cl_int result = applyExecInfo(*std::prev(next));
    if (result != CL_SUCCESS) {
      problem("the settings of clSetKernelExecInfo cannot be applied: " + openClError(result));
      return result;
    }
    info.now = *std::prev(next);
  }
  return CL_SUCCESS;
}

cl_int OpenClExecutor::call(const SetExecInfo& c) {
  if (cl_.clSetKernelExecInfo == nullptr) {
    problem("this OpenCL loader has no clSetKernelExecInfo");
    return CL_SUCCESS;
  }
  called_ = true;
  if (step_->header.result != CL_SUCCESS) return applyExecInfo(index_);
  // Applied at the launch, like arguments: launches may come in another order.
  exec_infos_[step_->object][c.name].calls.insert(index_);
  return CL_SUCCESS;
}

}  // namespace tracesmith
