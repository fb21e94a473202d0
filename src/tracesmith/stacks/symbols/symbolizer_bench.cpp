// SPDX-License-Identifier: Apache-2.0
// Turns 10,000 distinct addresses of a module into functions, lines and inlined functions. Compares
// with addr2line of binutils and of elfutils for the same addresses, each started afresh. The
// target is 2 s. Usage: symbolizer_bench [--count N] [MODULE...]; without modules it uses libLLVM
// if installed, this program, and the command of the debug build if that is beside this one.
#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/stacks/symbols/symbolizer.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

/// Processor time of this process and its waited-for children; more reliable on a busy machine.
double processorSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage usage {};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    }
  }
  return seconds;
}

class Stopwatch {
 public:
  void tell(const char* who) const {
    std::printf("  %-14s %7.3f s, %7.3f s of processor time", who,
                static_cast<double>(monotonicNs() - begin_ns_) / 1e9,
                processorSeconds() - begin_s_);
  }

 private:
  int64_t begin_ns_ = monotonicNs();
  double begin_s_ = processorSeconds();
};

/// Addresses anywhere in the code, as a profiler might see them.
std::vector<uint64_t> someAddresses(const std::string& path, size_t count) {
  std::vector<uint64_t> addresses;
  const OpenFile file = OpenFile::regular(path);
  Elf64_Ehdr header;
  if (!file || ::pread(file.fd(), &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return addresses;
  }
  uint64_t begin = 0;  // of the largest code section
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr part;
    const auto at = static_cast<off_t>(header.e_shoff + i * sizeof part);
    if (::pread(file.fd(), &part, sizeof part, at) != sizeof part) break;
    if ((part.sh_flags & SHF_EXECINSTR) != 0 && part.sh_size > bytes) {
      begin = part.sh_addr;
      bytes = part.sh_size;
    }
  }
  std::mt19937_64 random(1);
  while (bytes != 0 && addresses.size() < 2 * count) addresses.push_back(begin + random() % bytes);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::shuffle(addresses.begin(), addresses.end(), random);
  addresses.resize(std::min(addresses.size(), count));
  return addresses;
}

void ours(const std::string& path, const std::vector<uint64_t>& addresses) {
  const OpenFile file = OpenFile::regular(path);
  std::string build_id;
  readBuildId(file.fd(), build_id);
  Trace trace;
  const StringId module = trace.strings.intern(path);
  const StringId id = trace.strings.intern(build_id);
  for (const uint64_t a : addresses) {
    trace.frame.push({.address = a,
                      .module = module,
                      .module_offset = a,
                      .build_id = id,
                      .flags = frame_flags::kExact});
  }
  const Stopwatch watch;
  const SymbolReport r = Symbolizer().symbolize(trace);
  watch.tell("tracesmith");
  std::printf(
      "; %llu named, %llu with a line, %llu inlined\n", static_cast<unsigned long long>(r.named),
      static_cast<unsigned long long>(r.with_line), static_cast<unsigned long long>(r.inlined));
}

void theirs(const char* tool, const std::string& path, const std::string& list) {
  if (std::system((std::string(tool) + " --version >/dev/null 2>&1").c_str()) != 0) {
    std::printf("  %-14s is not installed\n", tool);
    return;
  }
  // A time limit: longer runs tell nothing more.
  const std::string command = "timeout 120 " + std::string(tool) + " -f -i -C -e '" + path + "' <" +
                              list + " >/dev/null 2>&1";
  const Stopwatch watch;
  const int code = std::system(command.c_str());
  watch.tell(tool);
  std::printf("%s\n", code == 0 ? "" : "; gave up");
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // also when writing to a file
  size_t count = 10'000;
  std::vector<std::string> modules;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--count" && i + 1 < argc) {
      count = std::strtoull(argv[++i], nullptr, 10);
    } else {
      modules.emplace_back(argv[i]);
    }
  }
  if (modules.empty()) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    for (const std::filesystem::path& p :
         {std::filesystem::path("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"), self,
          self.parent_path() / "../../dev/bin/tracesmith"}) {
      if (std::filesystem::exists(p)) modules.push_back(std::filesystem::canonical(p));
    }
  }
  if (!Symbolizer::isAvailable()) {
    std::printf("built without libdw\n");
    return 0;
  }
  const std::string list = "/tmp/symbolizer_bench." + std::to_string(::getpid());
  for (const std::string& path : modules) {
    const std::vector<uint64_t> addresses = someAddresses(path, count);
    FILE* const file = std::fopen(list.c_str(), "w");
    if (file == nullptr) return 1;
    for (const uint64_t a : addresses)
      std::fprintf(file, "0x%llx\n", static_cast<unsigned long long>(a));
    std::fclose(file);
    std::printf("%s, %zu addresses\n", path.c_str(), addresses.size());
    ours(path, addresses);
    theirs("addr2line", path, list);
    theirs("eu-addr2line", path, list);
  }
  std::remove(list.c_str());
}
