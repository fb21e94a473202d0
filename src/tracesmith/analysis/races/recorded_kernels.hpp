// SPDX-License-Identifier: Apache-2.0
// The kernels of a recorded program: their current arguments, and the accesses found in their
// source.
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

  /// Adds the accesses of a launch of the kernel with its current arguments. Returns its name, or
  /// nullptr for a kernel that was never created.
  const std::string* addLaunch(recording::Handle kernel, const RecordedMemory& memory,
                               std::vector<Access>& out);
  /// Launched kernels with arguments that are not understood.
  const std::set<std::string>& guessed() const { return guessed_; }

 private:
  struct Source {
    std::string text;
    std::map<std::string, std::unique_ptr<ProgramAccess>> by_options;
  };
  struct Program {
    Source* source = nullptr;  // for programs that have a source
    std::string options;
    IncludedFiles files;  // of its last or next build
    std::string files_key;
    bool is_built = false;
    std::vector<recording::Handle> inputs;  // for linked programs
  };
  struct Argument {
    recording::ArgumentForm form = recording::ArgumentForm::kNull;
    uint64_t value = 0;
    uint8_t bytes = 0;  // size of the value; 0: none, or more than 8
  };
  struct Kernel {
    std::string name;
    recording::Handle program{};
    KernelAccess access;
    /// Accesses of launches, by the bytes of the arguments that decide.
    std::map<std::string, KernelAccess> decided;
    std::vector<Argument> arguments;
    std::vector<uint64_t> shared;  // shared memory that it may access without an argument
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
