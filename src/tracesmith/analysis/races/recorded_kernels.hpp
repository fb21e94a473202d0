// SPDX-License-Identifier: Apache-2.0
// The kernels of a recorded program: the arguments that are set at the moment, and what the source
// says is done with them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/analysis/kernel_source/kernel_access.hpp"
#include "tracesmith/analysis/races/recorded_memory.hpp"

namespace tracesmith::races {

class RecordedKernels {
 public:
  using Content = std::function<Result<Bytes>(const recording::Payload&)>;
  explicit RecordedKernels(const Content& content) : content_(content) {}

  void create(const recording::CreateProgram& command);
  void include(const recording::IncludedFile& command);
  void build(const recording::BuildProgram& command);
  void create(const recording::CreateKernel& command);
  void clone(const recording::CloneKernel& command);
  void set(const recording::SetArgument& command);
  void set(const recording::SetExecInfo& command);

  /// What a launch of the kernel touches now. Its name, or nullptr for a kernel nobody made.
  const std::string* addLaunch(recording::Handle kernel, const RecordedMemory& memory,
                               std::vector<Access>& out);
  /// Kernels that were launched and of whose arguments some are not understood.
  const std::set<std::string>& guessed() const { return guessed_; }

 private:
  struct Source {
    std::string text;
    std::map<std::string, std::unique_ptr<ProgramAccess>> by_options;
  };
  struct Program {
    Source* source = nullptr;  // of programs that have one
    std::string options;
    IncludedFiles files;  // of its last build, or of one that is to come
    std::string files_key;
    bool is_built = false;
    std::vector<recording::Handle> inputs;  // of linking
  };
  struct Argument {
    recording::ArgumentForm form = recording::ArgumentForm::kNull;
    uint64_t value = 0;
    uint8_t bytes = 0;  // of it; 0: none, or more than 8
  };
  struct Kernel {
    std::string name;
    recording::Handle program{};
    KernelAccess access;
    /// By the bytes of the arguments that decide: what launches with these do.
    std::map<std::string, KernelAccess> decided;
    std::vector<Argument> arguments;
    std::vector<uint64_t> shared;  // that it may reach without an argument
  };
  static void addFile(Program& program, const std::string& path, std::string text);
  KernelAccess accessOf(recording::Handle program, const std::string& name, int depth,
                        const ArgumentBytes& values = {});
  const KernelAccess& accessOfLaunch(Kernel& kernel);

  const Content& content_;
  std::unordered_map<recording::ContentHash, Source, recording::HashOfContentHash> sources_;
  std::unordered_map<recording::Handle, Program> programs_;
  std::unordered_map<recording::Handle, Kernel> kernels_;
  std::set<std::string> guessed_;
};

}  // namespace tracesmith::races
