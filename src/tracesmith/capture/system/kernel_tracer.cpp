// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/kernel_tracer.hpp"

#ifdef TRACESMITH_BPF_OBJECT
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tracesmith/capture/system/system_records.hpp"

// CMake recompiles this when the object changes.
asm(".section .rodata\n"
    ".balign 8\n"
    ".global tracesmith_bpf_object\n"
    ".hidden tracesmith_bpf_object\n"
    "tracesmith_bpf_object: .incbin \"" TRACESMITH_BPF_OBJECT
    "\"\n"
    ".global tracesmith_bpf_object_end\n"
    ".hidden tracesmith_bpf_object_end\n"
    "tracesmith_bpf_object_end: .byte 0\n"
    ".previous\n");
extern "C" const char tracesmith_bpf_object[], tracesmith_bpf_object_end[];
#endif

namespace tracesmith {

#ifdef TRACESMITH_BPF_OBJECT
namespace {

constexpr const char* kLibrary = "libbpf.so.1";
constexpr const char* kTypes = "/sys/kernel/btf/vmlinux";

/// The functions of libbpf, which is loaded when it is needed: a trace can be read without it.
struct Libbpf {
  decltype(&::libbpf_set_print) set_print;
  decltype(&::bpf_object__open_mem) open_mem;
  decltype(&::bpf_object__load) load;
  decltype(&::bpf_object__close) close;
  decltype(&::bpf_object__find_map_by_name) find_map;
  decltype(&::bpf_object__find_program_by_name) find_program;
  decltype(&::bpf_object__next_map) next_map;
  decltype(&::bpf_map__name) map_name;
  decltype(&::bpf_map__initial_value) initial_value;
  decltype(&::bpf_map__set_initial_value) set_initial_value;
  decltype(&::bpf_map__fd) map_fd;
  decltype(&::bpf_program__attach) attach;
  decltype(&::bpf_program__fd) program_fd;
  decltype(&::bpf_program__set_autoload) set_autoload;
  decltype(&::bpf_link__destroy) destroy_link;
  decltype(&::ring_buffer__new) new_ring;
  decltype(&::ring_buffer__consume) consume;
  decltype(&::ring_buffer__free) free_ring;
  decltype(&::bpf_map_update_elem) update;
  decltype(&::bpf_map_lookup_elem) lookup;
  decltype(&::bpf_map_delete_elem) remove;
  decltype(&::libbpf_num_possible_cpus) possible_cpus;
};

/// nullptr: it is not installed, or too old.
const Libbpf* libbpf() {
  static const Libbpf* const kLoaded = []() -> const Libbpf* {
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Libbpf of;
    bool has_all = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      has_all = has_all && function != nullptr;
    };
    find(of.set_print, "libbpf_set_print");
    find(of.open_mem, "bpf_object__open_mem");
    find(of.load, "bpf_object__load");
    find(of.close, "bpf_object__close");
    find(of.find_map, "bpf_object__find_map_by_name");
    find(of.find_program, "bpf_object__find_program_by_name");
    find(of.next_map, "bpf_object__next_map");
    find(of.map_name, "bpf_map__name");
    find(of.initial_value, "bpf_map__initial_value");
    find(of.set_initial_value, "bpf_map__set_initial_value");
    find(of.map_fd, "bpf_map__fd");
    find(of.attach, "bpf_program__attach");
    find(of.program_fd, "bpf_program__fd");
    find(of.set_autoload, "bpf_program__set_autoload");
    find(of.destroy_link, "bpf_link__destroy");
    find(of.new_ring, "ring_buffer__new");
    find(of.consume, "ring_buffer__consume");
    find(of.free_ring, "ring_buffer__free");
    find(of.update, "bpf_map_update_elem");
    find(of.lookup, "bpf_map_lookup_elem");
    find(of.remove, "bpf_map_delete_elem");
    find(of.possible_cpus, "libbpf_num_possible_cpus");
    if (!has_all) return nullptr;
    of.set_print([](libbpf_print_level, const char*, va_list) { return 0; });
    return &of;
  }();
  return kLoaded;
}

/// The layout of the object's constants (system.bpf.c), in their order.
struct Constants {
  uint32_t pid_level;
  uint32_t unused;
  uint64_t least_call_ns;
  uint64_t least_stack_ns;
  uint32_t reads_python;
  uint32_t unused_at_end;
};

/// In how many pid namespaces this process is, but the outermost: "NSpid:	7	3" is 1.
uint32_t pidLevel() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("NSpid:")) continue;
    // /proc may be that of the same namespace; then only its own number is shown.
    return static_cast<uint32_t>(std::count(line.begin(), line.end(), '\t') - 1);
  }
  return 0;
}

/// Ends of interrupts before their begins, so that a handler that runs now is not counted for ever.
constexpr std::array kPrograms = {"on_timer_end",      "on_soft_interrupt_end",
                                  "on_interrupt_end",  "on_timer",
                                  "on_soft_interrupt", "on_interrupt",
                                  "on_fork",           "on_exec",
                                  "on_switch",         "on_waking",
                                  "on_call",           "on_return",
                                  "on_signal"};
constexpr const char *kSampleProgram = "on_sample", *kOomProgram = "on_oom_kill";

/// Programs that only newer kernels take.
struct Extras {
  bool reads_python, sees_oom_kills;
};

}  // namespace

struct KernelTracer::Programs {
  const Libbpf* lib = nullptr;
  bpf_object* object = nullptr;
  std::vector<bpf_link*> links;
  ring_buffer* ring = nullptr;
  int starting = -1, followed = -1, counters = -1, pythons = -1;
  int sample_program = -1;  // -1: this kernel does not take it
  const std::function<void(std::span<const uint8_t>)>* take = nullptr;  // during drain()

  ~Programs() {
    for (bpf_link* const link : links) lib->destroy_link(link);
    if (ring != nullptr) lib->free_ring(ring);
    if (object != nullptr) lib->close(object);
  }

  /// Kernels check programs: one that does not take the extra ones takes the others.
  Status load(const KernelTracerOptions& options) {
    int error = 0;
    for (const Extras extras : {Extras{true, true}, Extras{true, false}, Extras{false, false}}) {
      TS_CHECK_OK(open(options, extras));
      if (lib->load(object) == 0) return attachAll(extras);
      error = errno;
      lib->close(std::exchange(object, nullptr));
    }
    errno = error;
    return cannot("load");
  }

  Status open(const KernelTracerOptions& options, const Extras& extras) {
    bpf_object_open_opts open{};
    open.sz = sizeof open;
    open.object_name = "tracesmith";
    object = lib->open_mem(tracesmith_bpf_object,
                           static_cast<size_t>(tracesmith_bpf_object_end - tracesmith_bpf_object),
                           &open);
    if (object == nullptr) return cannot("open");
    for (const auto& [name, is_wanted] : {std::pair{kSampleProgram, extras.reads_python},
                                          std::pair{kOomProgram, extras.sees_oom_kills}}) {
      bpf_program* const program = lib->find_program(object, name);
      if (program == nullptr || lib->set_autoload(program, is_wanted) != 0) return cannot(name);
    }
    return setConstants(options, extras.reads_python);
  }

  Status attach(const char* name) {
    bpf_program* const program = lib->find_program(object, name);
    bpf_link* const link = program == nullptr ? nullptr : lib->attach(program);
    if (link == nullptr) return cannot(name);
    links.push_back(link);
    return {};
  }

  Status attachAll(const Extras& extras) {
    for (const char* const name : kPrograms) TS_CHECK_OK(attach(name));
    if (extras.sees_oom_kills) TS_CHECK_OK(attach(kOomProgram));
    if (extras.reads_python) {
      sample_program = lib->program_fd(lib->find_program(object, kSampleProgram));
    }
    starting = lib->map_fd(lib->find_map(object, "starting"));
    followed = lib->map_fd(lib->find_map(object, "followed"));
    counters = lib->map_fd(lib->find_map(object, "counters"));
    pythons = lib->map_fd(lib->find_map(object, "pythons"));
    ring = lib->new_ring(
        lib->map_fd(lib->find_map(object, "records")),
        [](void* self, void* bytes, size_t size) {
          const auto& programs = *static_cast<const Programs*>(self);
          if (programs.take != nullptr) {
            (*programs.take)({static_cast<const uint8_t*>(bytes), size});
          }
          return 0;
        },
        this, nullptr);
    if (ring == nullptr) return cannot("read");
    return {};
  }

  Status setConstants(const KernelTracerOptions& options, bool reads_python) {
    for (bpf_map* map = lib->next_map(object, nullptr); map != nullptr;
         map = lib->next_map(object, map)) {
      if (!std::string_view(lib->map_name(map)).ends_with(".rodata")) continue;
      size_t size = 0;
      const auto* const before = static_cast<const uint8_t*>(lib->initial_value(map, &size));
      if (before == nullptr || size < offsetof(Constants, unused_at_end)) break;
      std::vector<uint8_t> value(before, before + size);
      const Constants constants{.pid_level = pidLevel(),
                                .unused = 0,
                                .least_call_ns = static_cast<uint64_t>(options.least_call_ns),
                                .least_stack_ns = static_cast<uint64_t>(options.least_stack_ns),
                                .reads_python = reads_python ? 1u : 0u,
                                .unused_at_end = 0};
      std::memcpy(value.data(), &constants, offsetof(Constants, unused_at_end));
      if (lib->set_initial_value(map, value.data(), value.size()) != 0) return cannot("set up");
      return {};
    }
    return fail(ErrorCode::kInternal, "the programs for the kernel have no constants");
  }

  static tl::unexpected<Error> cannot(const char* what) {
    const int error = errno;
    const bool forbids = error == EPERM || error == EACCES;
    return fail(forbids ? ErrorCode::kPermission : ErrorCode::kUnsupported,
                std::string("this kernel does not take programs of TraceSmith (") + what + ": " +
                    std::strerror(error) + ")" +
                    (forbids ? "; run as root, or with CAP_BPF and CAP_PERFMON" : ""));
  }
};

Result<std::unique_ptr<KernelTracer>> KernelTracer::start(const KernelTracerOptions& options) {
  if (access(kTypes, R_OK) != 0) {
    return fail(ErrorCode::kUnsupported,
                "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)", kTypes);
  }
  const Libbpf* const lib = libbpf();
  if (lib == nullptr) {
    return fail(ErrorCode::kUnsupported, "libbpf is missing (apt install libbpf1)", kLibrary);
  }
  auto programs = std::make_unique<Programs>();
  programs->lib = lib;
  TS_CHECK_OK(programs->load(options));
  return std::unique_ptr<KernelTracer>(new KernelTracer(std::move(programs)));
}

KernelTracer::KernelTracer(std::unique_ptr<Programs> programs) : programs_(std::move(programs)) {}
KernelTracer::~KernelTracer() = default;

Status KernelTracer::followFromExec(pid_t pid) {
  const auto key = static_cast<uint32_t>(pid);
  const uint32_t value = 1;
  if (programs_->lib->update(programs_->starting, &key, &value, BPF_ANY) != 0) {
    return failErrno(errno, "cannot follow a process in the kernel");
  }
  return {};
}

Status KernelTracer::follow(const std::vector<uint32_t>& processes) {
  const auto none = std::make_unique<system_counts>();
  for (const uint32_t pid : processes) {
    if (programs_->lib->update(programs_->followed, &pid, none.get(), BPF_NOEXIST) != 0 &&
        errno != EEXIST) {
      return failErrno(errno, "cannot follow a process in the kernel");
    }
  }
  return {};
}

Status KernelTracer::readPythonAt(PerfEvents& events) {
  if (programs_->sample_program < 0) {
    return fail(ErrorCode::kUnsupported, "this kernel does not take the program that reads Python");
  }
  return events.runAtSamples(programs_->sample_program);
}

void KernelTracer::readPythonOf(pid_t pid, const stacks::PythonProcess& python) {
  constexpr uint32_t kNewest = 0x030d;  // later ones were never tried
  if (python.interpreter().version >> 16 > kNewest) return;
  const stacks::PythonLayout& from = python.layout();
  const uint32_t of_frame[] = {from.frame_code, from.frame_previous, from.frame_instruction,
                               from.frame_owner};
  const auto lies_within = [](uint32_t at) {
    return at + sizeof(uint64_t) <= SYSTEM_PYTHON_FRAME_BYTES;
  };
  if (!std::all_of(std::begin(of_frame), std::end(of_frame), lies_within)) return;
  const auto orAbsent = [](uint32_t at) {
    constexpr uint16_t kAbsent = SYSTEM_PYTHON_ABSENT;
    return at == stacks::PythonLayout::kAbsent ? kAbsent : static_cast<uint16_t>(at);
  };
  const auto offset = [](uint32_t at) { return static_cast<uint16_t>(at); };
  const system_python_layout layout{.interpreters = python.interpreters(),
                                    .interpreter_next = offset(from.interpreter_next),
                                    .interpreter_threads = offset(from.interpreter_threads),
                                    .thread_previous = offset(from.thread_previous),
                                    .thread_next = offset(from.thread_next),
                                    .thread_native_id = offset(from.thread_native_id),
                                    .thread_frame = offset(from.thread_frame),
                                    .link_frame = orAbsent(from.link_frame),
                                    .frame_code = offset(from.frame_code),
                                    .frame_previous = offset(from.frame_previous),
                                    .frame_instruction = offset(from.frame_instruction),
                                    .frame_owner = offset(from.frame_owner),
                                    .frame_is_entry = orAbsent(from.frame_is_entry)};
  const auto key = static_cast<uint32_t>(pid);
  // With a full map, its stacks have no Python frames.
  (void)programs_->lib->update(programs_->pythons, &key, &layout, BPF_ANY);
}

void KernelTracer::drain(const std::function<void(std::span<const uint8_t>)>& take) {
  programs_->take = &take;
  programs_->lib->consume(programs_->ring);
  programs_->take = nullptr;
}

std::vector<SystemCallCount> KernelTracer::takeCallsOf(pid_t pid) {
  const auto key = static_cast<uint32_t>(pid);
  const auto counts = std::make_unique<system_counts>();
  std::vector<SystemCallCount> out;
  if (programs_->lib->lookup(programs_->followed, &key, counts.get()) != 0) return out;
  programs_->lib->remove(programs_->followed, &key);
  programs_->lib->remove(programs_->pythons, &key);
  for (uint32_t number = 0; number < SYSTEM_CALL_NUMBERS; ++number) {
    if (counts->calls[number] == 0) continue;
    out.push_back({number, counts->calls[number], counts->total_ns[number]});
  }
  return out;
}

uint64_t KernelTracer::lost() const { return sumOf(SYSTEM_LOST); }
uint64_t KernelTracer::lostPython() const { return sumOf(SYSTEM_LOST_PYTHON); }

/// Over all processors.
uint64_t KernelTracer::sumOf(uint32_t counter) const {
  const int cpus = programs_->lib->possible_cpus();
  std::vector<uint64_t> of_cpu(static_cast<size_t>(std::max(cpus, 1)));
  if (programs_->lib->lookup(programs_->counters, &counter, of_cpu.data()) != 0) return 0;
  uint64_t sum = 0;
  for (const uint64_t lost : of_cpu) sum += lost;
  return sum;
}

#else

struct KernelTracer::Programs {};
Result<std::unique_ptr<KernelTracer>> KernelTracer::start(const KernelTracerOptions&) {
  return fail(ErrorCode::kUnsupported,
              "this build has no programs for the kernel: it was made without clang or libbpf-dev");
}
KernelTracer::KernelTracer(std::unique_ptr<Programs> programs) : programs_(std::move(programs)) {}
KernelTracer::~KernelTracer() = default;
Status KernelTracer::followFromExec(pid_t) { return {}; }
Status KernelTracer::follow(const std::vector<uint32_t>&) { return {}; }
Status KernelTracer::readPythonAt(PerfEvents&) {
  return fail(ErrorCode::kUnsupported, "this build has no programs for the kernel");
}
void KernelTracer::readPythonOf(pid_t, const stacks::PythonProcess&) {}
void KernelTracer::drain(const std::function<void(std::span<const uint8_t>)>&) {}
std::vector<SystemCallCount> KernelTracer::takeCallsOf(pid_t) { return {}; }
uint64_t KernelTracer::lost() const { return 0; }
uint64_t KernelTracer::lostPython() const { return 0; }
uint64_t KernelTracer::sumOf(uint32_t) const { return 0; }

#endif

}  // namespace tracesmith
