// SPDX-License-Identifier: Apache-2.0
// The preload library of `profile --xray`. In a program compiled with -fxray-instrument it installs
// a handler for the sleds, which writes a record of 16 bytes at each function entry and exit. In
// other programs it does nothing.
//
// XRay's runtime is part of the program and mostly not exported: its three functions are looked up
// in the program's own symbol table.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent {
namespace {

// XRayEntryType and XRayPatchingStatus of xray_interface.h, and its functions.
constexpr int kEntry = 0;
constexpr int kExit = 1;
constexpr int kTailExit = 2;
constexpr int kLoggedEntry = 3;  // for functions whose first argument is logged
constexpr int kPatched = 1;
using Handler = void (*)(int32_t function, int type);
struct Runtime {
  void (*init)() = nullptr;
  int (*set_handler)(Handler) = nullptr;
  int (*patch)() = nullptr;
};

constexpr const char* kMapSection = "xray_instr_map";

std::atomic<pid_t> g_recorded_pid{0};  // the process in which the program was recorded

/// The program's file, mapped; all reads are checked to be inside it.
class ProgramFile {
 public:
  ProgramFile() {
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat status {};
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      void* const p =
          mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (p != MAP_FAILED) {
        base_ = static_cast<const uint8_t*>(p);
        size_ = static_cast<uint64_t>(status.st_size);
      }
    }
    close(fd);
  }
  ~ProgramFile() {
    if (base_ != nullptr) munmap(const_cast<uint8_t*>(base_), size_);
  }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  /// The program has functions that can be traced.
  bool instrumented() const { return section(kMapSection) != nullptr; }

  /// Address of a function of the program; nullptr: it is not in the symbol table.
  void* find(const char* name, uint64_t bias) const {
    for (const char* const table : {".symtab", ".dynsym"}) {
      const ElfW(Shdr)* const symbols = section(table);
      if (symbols == nullptr) continue;
      const ElfW(Shdr)* const strings = numbered(symbols->sh_link);
      if (strings == nullptr) continue;
      for (uint64_t i = 0; i < symbols->sh_size / sizeof(ElfW(Sym)); ++i) {
        const auto* const s = reinterpret_cast<const ElfW(Sym)*>(base_ + symbols->sh_offset) + i;
        if (s->st_value != 0 && s->st_shndx != SHN_UNDEF && is(*strings, s->st_name, name)) {
          return reinterpret_cast<void*>(bias + s->st_value);
        }
      }
    }
    return nullptr;
  }

 private:
  const ElfW(Shdr) * numbered(uint64_t number) const {
    if (size_ < sizeof(ElfW(Ehdr)) || memcmp(base_, ELFMAG, SELFMAG) != 0) return nullptr;
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(base_);
    if (header->e_shentsize != sizeof(ElfW(Shdr)) || number >= header->e_shnum) return nullptr;
    const uint64_t at = header->e_shoff + number * sizeof(ElfW(Shdr));
    if (header->e_shoff > size_ || at > size_ - sizeof(ElfW(Shdr))) return nullptr;
    const auto* const s = reinterpret_cast<const ElfW(Shdr)*>(base_ + at);
    const bool whole =
        s->sh_type == SHT_NOBITS || (s->sh_offset <= size_ && s->sh_size <= size_ - s->sh_offset);
    return whole ? s : nullptr;
  }
  const ElfW(Shdr) * section(const char* name) const {
    if (base_ == nullptr) return nullptr;
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(base_);
    const ElfW(Shdr)* const names = size_ < sizeof *header ? nullptr : numbered(header->e_shstrndx);
    if (names == nullptr) return nullptr;
    for (uint64_t i = 0; i < header->e_shnum; ++i) {
      const ElfW(Shdr)* const s = numbered(i);
      if (s != nullptr && is(*names, s->sh_name, name)) return s;
    }
    return nullptr;
  }
  bool is(const ElfW(Shdr) & strings, uint64_t at, const char* name) const {
    const uint64_t bytes = strlen(name) + 1;
    return at <= strings.sh_size && bytes <= strings.sh_size - at &&
           memcmp(base_ + strings.sh_offset + at, name, bytes) == 0;
  }

  const uint8_t* base_ = nullptr;
  uint64_t size_ = 0;
};

/// Records the outcome and the program's path.
void recordProgram(arena::XRayState state) {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const uint32_t path_bytes = n < 0 ? 0 : static_cast<uint32_t>(n);
  const uint64_t bytes = (sizeof(arena::XRayProgramRecord) + path_bytes + 7) & ~uint64_t{7};
  if (!ready()) return;
  ThreadState& t = t_state;
  t.busy = stackPointer();  // tells a signal handler that interrupts this
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (uint8_t* const p = reserve(t, bytes)) {
    const arena::XRayProgramRecord r{{arena::RecordKind::kXRayProgram, static_cast<uint8_t>(state),
                                      static_cast<uint16_t>(bytes / 8), path_bytes}};
    memcpy(p, &r, sizeof r);
    memcpy(p + sizeof r, path, path_bytes);
    commit(t, bytes);
  } else {
    bump(t.ring->emitted);  // reserve() has counted it as dropped: emitted = written + dropped
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
}

/// Once per process; a forked child is a process of its own.
void recordProgramOnce() {
  const int before = errno;
  const pid_t pid = getpid();
  if (g_recorded_pid.exchange(pid, std::memory_order_relaxed) != pid) {
    recordProgram(arena::XRayState::kPatching);
  }
  errno = before;
}

/// The handler; called with all argument registers saved, by every thread. [hot]
void onFunction(int32_t function, int type) {
  if (type == kLoggedEntry) type = kEntry;
  if (__builtin_expect(type > kTailExit, 0)) return;  // a custom event of the program
  ThreadState& t = t_state;
  uint8_t flags = static_cast<uint8_t>(type);
  if (__builtin_expect(t.ring == nullptr || t.epoch != g_ready_epoch->load(), 0)) {
    const auto* const ring_before = t.ring;
    const uint64_t epoch_before = t.epoch;
    const int before = errno;
    const bool attached = attachThread();
    errno = before;
    if (!attached) return;
    if (t.ring != ring_before || t.epoch != epoch_before) {
      flags |= arena::kFlagFirst;
      recordProgramOnce();
    }
  }
  if (isBusy(t)) return countReentrant();
  if (!capturing()) return;
  t.busy = stackPointer();  // tells a signal handler that interrupts this
  std::atomic_signal_fence(std::memory_order_seq_cst);
  bump(t.ring->emitted);
  if (uint8_t* const p = reserve(t, sizeof(arena::FunctionRecord))) {
    const arena::FunctionRecord r{
        {arena::RecordKind::kFunction, flags, sizeof(arena::FunctionRecord) / 8,
         static_cast<uint32_t>(function)},
        stamp()};
    memcpy(p, &r, sizeof r);
    commit(t, sizeof r);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
}
static_assert(kEntry == static_cast<int>(arena::FunctionEvent::kEntry) &&
              kExit == static_cast<int>(arena::FunctionEvent::kExit) &&
              kTailExit == static_cast<int>(arena::FunctionEvent::kTailExit));

arena::XRayState patch(const ProgramFile& file) {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;  // the first one is the program
        return 1;
      },
      &bias);
  Runtime runtime;
  runtime.init = reinterpret_cast<void (*)()>(file.find("__xray_init", bias));
  runtime.set_handler = reinterpret_cast<int (*)(Handler)>(file.find("__xray_set_handler", bias));
  runtime.patch = reinterpret_cast<int (*)()>(file.find("__xray_patch", bias));
  if (runtime.set_handler == nullptr || runtime.patch == nullptr) {
    return arena::XRayState::kNoSymbols;
  }
  if (runtime.init != nullptr) runtime.init();
  if (runtime.set_handler(onFunction) == 0) return arena::XRayState::kRefused;
  return runtime.patch() == kPatched ? arena::XRayState::kPatched : arena::XRayState::kRefused;
}

__attribute__((constructor)) void begin() {
  const char* const session = getenv(arena::kEnvSession);
  if (session == nullptr || *session == 0) return;
  const int before = errno;
  const ProgramFile file;
  // This record comes before the first function record.
  if (file.instrumented() && arm("xray") && ready()) {
    recordProgramOnce();
    const arena::XRayState state = patch(file);
    if (state != arena::XRayState::kPatched) recordProgram(state);
  }
  errno = before;
}

}  // namespace
}  // namespace tracesmith::agent
