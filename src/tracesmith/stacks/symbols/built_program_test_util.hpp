// SPDX-License-Identifier: Apache-2.0
// For tests: small programs, built on the fly in the usual ways, and what other tools report about
// them.
#pragma once

#include <fcntl.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/stacks/symbols/module_files.hpp"

namespace tracesmith::test {

/// The standard output of a command; "" when it fails.
inline std::string outputOf(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (size_t n = 0; (n = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  return ::pclose(pipe) == 0 ? text : std::string();
}

inline bool works(const std::string& command) { return !outputOf(command + " && echo x").empty(); }

inline std::string buildIdOf(const std::string& path) {
  const OpenFile file = OpenFile::regular(path);
  std::string id;
  if (file) readBuildId(file.fd(), id);
  return id;
}

/// Has functions inlined into one another, members, templates, lambdas, and a C function.
constexpr const char* kProgram = R"(namespace app {
volatile int sink;
static inline __attribute__((always_inline)) int leaf(int x) {
  sink = x;
  return sink + 1;
}
static inline __attribute__((always_inline)) int middle(int x) {
  const int y = leaf(x + 1);
  return y * 3;
}
template <class T>
struct Box {
  __attribute__((noinline)) T get(T x) {
    sink = 5;
    return middle(x) + sink;
  }
};
namespace {
__attribute__((noinline)) int hidden(int x) { return x + sink; }
}  // namespace
__attribute__((noinline)) int outer(int x) {
  auto add = [x](int y) __attribute__((noinline)) { return x + y + sink; };
  const int a = Box<int>().get(x);
  return middle(a) + hidden(a) + add(a);
}
}  // namespace app
extern "C" __attribute__((noinline)) int plain(int x) { return app::outer(x) + 1; }
#ifndef LIBRARY
int main(int argc, char**) { return plain(argc) == 7; }
#endif
)";

struct FunctionSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;  ///< demangled
};

class BuiltProgram {
 public:
  /// `compiler`: command with options. Nothing is built if the compiler does not work; see path().
  BuiltProgram(const TempFolder& folder, const std::string& name, const std::string& compiler) {
    const std::string source = folder.path(name + ".cpp");
    std::ofstream(source) << kProgram;
    const std::string target = folder.path(name);
    if (works(compiler + " " + source + " -o " + target)) path_ = target;
  }
  /// "": it could not be built.
  const std::string& path() const { return path_; }

  /// The functions in the program's own source.
  std::vector<FunctionSymbol> functions() const {
    std::vector<FunctionSymbol> found;
    const std::string text = outputOf("nm -S -C --defined-only " + path_);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      unsigned long address = 0, size = 0;
      char kind = 0;
      int used = 0;
      if (std::sscanf(line.c_str(), "%lx %lx %c %n", &address, &size, &kind, &used) != 3) continue;
      const std::string name = line.substr(static_cast<size_t>(used));
      const bool ours = name.find("app::") == 0 || name == "plain" || name == "main";
      if (ours && (kind == 't' || kind == 'T' || kind == 'W'))
        found.push_back({address, size, name});
    }
    return found;
  }

 private:
  std::string path_;
};

}  // namespace tracesmith::test
