// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/recorded_kernels.hpp"

#include <filesystem>

#include <algorithm>
#include <cstring>

namespace tracesmith::races {

using namespace recording;  // NOLINT: uses the recording vocabulary

namespace {

constexpr uint64_t kSharedPointers = 0x11B6;  // CL_KERNEL_EXEC_INFO_SVM_PTRS
constexpr size_t kMostArguments = 4096;       // a larger number is damage
constexpr int kDeepestLink = 8;
constexpr size_t kMostDecisions = 256;  // per kernel, by values of its arguments

}  // namespace

void RecordedKernels::create(const CreateProgram& c) {
  Program program;
  program.options.assign(c.options.begin(), c.options.end());
  program.inputs.assign(c.inputs.begin(), c.inputs.end());
  if (c.form == ProgramForm::kSource && c.code.known() && !c.code.chunks.empty() &&
      c.code.bytes <= kMostSourceBytes) {
    // A source may have several chunks, so the first one does not identify it.
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

void RecordedKernels::addFile(Program& program, const std::string& path, std::string text) {
  if (program.is_built) {
    program.files.by_path.clear();
    program.files_key.clear();
    program.is_built = false;
  }
  const ByteView bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const ContentHash hash = hashOf(bytes);
  program.files_key += path + '\0' + std::to_string(hash.low) + ',' + std::to_string(hash.high);
  program.files.by_path[std::filesystem::path(path).lexically_normal().string()] = std::move(text);
}

void RecordedKernels::include(const IncludedFile& c) {
  const auto it = programs_.find(c.program);
  if (it == programs_.end() || c.content.bytes > kMostSourceBytes) return;
  const Result<Bytes> text = content_(c.content);
  if (!text) return;
  addFile(it->second, std::string(c.path.begin(), c.path.end()), {text->begin(), text->end()});
  it->second.files.folder.assign(c.folder.begin(), c.folder.end());
}

void RecordedKernels::build(const BuildProgram& c) {
  const auto it = programs_.find(c.program);
  if (it == programs_.end()) return;
  // Headers that are programs.
  size_t at = 0;
  for (const Handle header : c.headers) {
    const std::string name(c.header_names.data() + at,
                           strnlen(c.header_names.data() + at, c.header_names.size() - at));
    at = std::min(at + name.size() + 1, c.header_names.size());
    const auto of = programs_.find(header);
    if (of == programs_.end() || of->second.source == nullptr) continue;
    addFile(it->second, it->second.files.folder + "/" + name, of->second.source->text);
  }
  it->second.options.assign(c.options.begin(), c.options.end());
  it->second.is_built = true;
}

KernelAccess RecordedKernels::accessOf(Handle handle, const std::string& name, int depth,
                                       const ArgumentBytes& values) {
  const auto it = programs_.find(handle);
  if (it == programs_.end() || depth > kDeepestLink) return {};
  Program& program = it->second;
  if (program.source != nullptr) {
    auto& access = program.source->by_options[program.options + '\0' + program.files_key];
    if (access == nullptr) {
      access =
          std::make_unique<ProgramAccess>(program.source->text, program.options, program.files);
    }
    return access->kernel(name, values);
  }
  for (const Handle input : program.inputs) {
    KernelAccess access = accessOf(input, name, depth + 1, values);
    if (access.is_known) return access;
  }
  return {};
}

/// Uses the current values of the arguments.
const KernelAccess& RecordedKernels::accessOfLaunch(Kernel& kernel) {
  if (kernel.access.decided_by.empty()) return kernel.access;
  std::string key;
  ArgumentBytes values(kernel.arguments.size());
  for (const size_t i : kernel.access.decided_by) {
    if (i >= values.size() || kernel.arguments[i].form != ArgumentForm::kValue) {
      key += '\0';
      continue;
    }
    const Argument& argument = kernel.arguments[i];
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&argument.value);
    values[i] = {bytes, argument.bytes};
    key += static_cast<char>(argument.bytes);
    key.append(reinterpret_cast<const char*>(bytes), argument.bytes);
  }
  const auto known = kernel.decided.find(key);
  if (known != kernel.decided.end()) return known->second;
  if (kernel.decided.size() >= kMostDecisions) return kernel.access;
  const KernelAccess access = accessOf(kernel.program, kernel.name, 0, values);
  return kernel.decided[key] = access.is_known ? access : kernel.access;
}

void RecordedKernels::create(const CreateKernel& c) {
  Kernel kernel;
  kernel.name.assign(c.name.begin(), c.name.end());
  kernel.program = c.program;
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
  argument = {c.form, 0, 0};
  if (c.value.size() <= sizeof argument.value) {
    std::memcpy(&argument.value, c.value.data(), c.value.size());
    argument.bytes = static_cast<uint8_t>(c.value.size());
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
  Kernel& kernel = it->second;
  const KernelAccess& does = accessOfLaunch(kernel);
  bool guesses = false;
  ArgumentAccess behind{.reads = false, .writes = false, .is_sure = true};
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    const bool is_handle = argument.bytes == sizeof argument.value;
    const bool is_object =
        argument.form == ArgumentForm::kValue && is_handle && memory.isObject(argument.value);
    const bool is_pointer = argument.form == ArgumentForm::kSvm;
    if (!is_object && !is_pointer) continue;
    const ArgumentAccess access =
        does.is_known && i < does.arguments.size() ? does.arguments[i] : ArgumentAccess{};
    const Grade grade = access.is_sure ? Grade::kLikely : Grade::kPossible;
    guesses |= !access.is_sure;
    behind.reads |= access.reads_indirectly;
    behind.writes |= access.writes_indirectly;
    for (const bool write : {true, false}) {
      if (write ? !access.writes : !access.reads) continue;
      if (is_object) memory.addObject(argument.value, write, grade, out);
      if (is_pointer) memory.addPointer(argument.value, write, grade, out);
    }
  }
  // clSetKernelExecInfo() names the memory reached through pointers in memory.
  for (const uint64_t pointer : kernel.shared) {
    if (behind.writes) memory.addPointer(pointer, true, Grade::kLikely, out);
    if (behind.reads) memory.addPointer(pointer, false, Grade::kLikely, out);
    if (!behind.writes) memory.addPointer(pointer, true, Grade::kPossible, out);
  }
  guesses |= kernel.shared.empty() && (behind.reads || behind.writes);
  if (guesses) guessed_.insert(kernel.name);
  return &kernel.name;
}

}  // namespace tracesmith::races
