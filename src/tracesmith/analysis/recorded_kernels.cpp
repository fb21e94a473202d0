// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/recorded_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace tracesmith::races {

using namespace recording;  // NOLINT: their words are ours here

namespace {

constexpr uint64_t kSharedPointers = 0x11B6;  // CL_KERNEL_EXEC_INFO_SVM_PTRS
constexpr size_t kMostArguments = 4096;       // beyond it a number is damage
constexpr int kDeepestLink = 8;

}  // namespace

void RecordedKernels::create(const CreateProgram& c) {
  Program program;
  program.options.assign(c.options.begin(), c.options.end());
  program.inputs.assign(c.inputs.begin(), c.inputs.end());
  if (c.form == ProgramForm::kSource && c.code.known() && !c.code.chunks.empty() &&
      c.code.bytes <= kMostSourceBytes) {
    // One source is one chunk or a few: whose first is the same, may still be another.
    ContentHash name = c.code.chunks[0];
    for (const ContentHash& chunk : c.code.chunks.subspan(1)) {
      name.low = name.low * 31 + chunk.low;
      name.high = name.high * 31 + chunk.high;
    }
    const auto [it, is_new] = sources_.try_emplace(name);
    if (is_new) {
      if (const Result<Bytes> text = content_(c.code)) {
        it->second.text.assign(text->begin(), text->end());
      }
    }
    program.source = &it->second;
  }
  programs_[c.program] = std::move(program);
}

void RecordedKernels::build(const BuildProgram& c) {
  const auto it = programs_.find(c.program);
  if (it != programs_.end()) it->second.options.assign(c.options.begin(), c.options.end());
}

KernelAccess RecordedKernels::accessOf(Handle handle, const std::string& name, int depth) {
  const auto it = programs_.find(handle);
  if (it == programs_.end() || depth > kDeepestLink) return {};
  Program& program = it->second;
  if (program.source != nullptr) {
    auto& access = program.source->by_options[program.options];
    if (access == nullptr) {
      access = std::make_unique<ProgramAccess>(program.source->text, program.options);
    }
    return access->kernel(name);
  }
  for (const Handle input : program.inputs) {
    KernelAccess access = accessOf(input, name, depth + 1);
    if (access.is_known) return access;
  }
  return {};
}

void RecordedKernels::create(const CreateKernel& c) {
  Kernel kernel;
  kernel.name.assign(c.name.begin(), c.name.end());
  kernel.access = accessOf(c.program, kernel.name, 0);
  kernels_[c.kernel] = std::move(kernel);
}

void RecordedKernels::clone(const CloneKernel& c) {
  const auto it = kernels_.find(c.source);
  if (it == kernels_.end()) return;
  Kernel copy = it->second;
  kernels_[c.kernel] = std::move(copy);
}

void RecordedKernels::set(const SetArgument& c) {
  const auto it = kernels_.find(c.kernel);
  if (it == kernels_.end() || c.index >= kMostArguments) return;
  std::vector<Argument>& arguments = it->second.arguments;
  if (c.index >= arguments.size()) arguments.resize(c.index + 1);
  Argument& argument = arguments[c.index];
  argument = {c.form, 0};
  if (c.value.size() == sizeof argument.value) {
    std::memcpy(&argument.value, c.value.data(), sizeof argument.value);
  } else if (c.form == ArgumentForm::kValue) {
    argument.form = ArgumentForm::kNull;  // a value of another size is no handle
  }
}

void RecordedKernels::set(const SetExecInfo& c) {
  const auto it = kernels_.find(c.kernel);
  if (it == kernels_.end() || c.name != kSharedPointers) return;
  std::vector<uint64_t>& shared = it->second.shared;
  shared.resize(c.value.size() / sizeof(uint64_t));
  if (!shared.empty()) {
    std::memcpy(shared.data(), c.value.data(), shared.size() * sizeof(uint64_t));
  }
}

const std::string* RecordedKernels::addLaunch(Handle handle, const RecordedMemory& memory,
                                              std::vector<Access>& out) {
  const auto it = kernels_.find(handle);
  if (it == kernels_.end()) return nullptr;
  const Kernel& kernel = it->second;
  bool guesses = false;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    const bool is_object = argument.form == ArgumentForm::kValue && memory.isObject(argument.value);
    const bool is_pointer = argument.form == ArgumentForm::kSvm;
    if (!is_object && !is_pointer) continue;
    const ArgumentAccess access = kernel.access.is_known && i < kernel.access.arguments.size()
                                      ? kernel.access.arguments[i]
                                      : ArgumentAccess{};
    const Grade grade = access.is_sure ? Grade::kLikely : Grade::kPossible;
    guesses |= !access.is_sure;
    for (const bool write : {true, false}) {
      if (write ? !access.writes : !access.reads) continue;
      if (is_object) memory.addWhole(argument.value, write, grade, out);
      if (is_pointer) memory.addPointer(argument.value, write, grade, out);
    }
  }
  for (const uint64_t pointer : kernel.shared) {
    memory.addPointer(pointer, true, Grade::kPossible, out);
  }
  if (guesses) guessed_.insert(kernel.name);
  return &kernel.name;
}

}  // namespace tracesmith::races
