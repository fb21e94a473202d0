// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python_runtime.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

// Not in every C library.
extern "C" __attribute__((weak)) decltype(dladdr1) dladdr1;

namespace tracesmith::stacks {
namespace {

PythonRuntime g_runtime;  // written once, before g_found is set
std::atomic<bool> g_looking{false};
std::atomic<bool> g_found{false};
std::atomic<uint64_t> g_objects_looked_at{0};
std::atomic<uint32_t> g_version{0};
std::atomic<PythonStatus> g_status{PythonStatus::kNone};

struct Loaded {
  uint64_t added = 0;
  char python[512] = "";  // the path of a libpython
};

int visit(dl_phdr_info* info, size_t, void* context) {
  auto& loaded = *static_cast<Loaded*>(context);
  loaded.added = info->dlpi_adds;
  const char* const name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const size_t length = strlen(name);
  // libpython3.so is there for linking only and has nothing in it.
  if (loaded.python[0] == 0 && length < sizeof loaded.python &&
      strstr(name, "libpython3.") != nullptr && strstr(name, "libpython3.so") == nullptr) {
    memcpy(loaded.python, name, length + 1);
  }
  return 0;
}

uint32_t versionOf(void* library) {
  if (const void* const p = dlsym(library, "Py_Version")) {  // since 3.11
    unsigned long version = 0;
    memcpy(&version, p, sizeof version);
    return static_cast<uint32_t>(version);
  }
  auto* const text = reinterpret_cast<const char* (*)()>(dlsym(library, "Py_GetVersion"));
  if (text == nullptr) return 0;
  char* end = nullptr;
  const auto major = static_cast<uint32_t>(strtoul(text(), &end, 10));
  const auto minor = *end == '.' ? static_cast<uint32_t>(strtoul(end + 1, nullptr, 10)) : 0;
  return (major & 0xff) << 24 | (minor & 0xff) << 16;
}

template <class T>
bool find(void* library, const char* name, T& out) {
  out = reinterpret_cast<T>(dlsym(library, name));
  return out != nullptr;
}

bool findSymbols(void* library, PythonRuntime& out) {
  return (find(library, "PyThreadState_GetUnchecked", out.current_thread) ||
          find(library, "_PyThreadState_UncheckedGet", out.current_thread)) &&
         find(library, "PyGILState_GetThisThreadState", out.this_thread) &&
         (find(library, "Py_IsFinalizing", out.is_ending) ||
          find(library, "_Py_IsFinalizing", out.is_ending)) &&
         find(library, "PyThreadState_GetInterpreter", out.thread_interpreter) &&
         find(library, "PyInterpreterState_GetID", out.interpreter_id) &&
         find(library, "Py_IncRef", out.hold) && find(library, "Py_DecRef", out.release) &&
         find(library, "PyUnicode_GetLength", out.text_length) &&
         find(library, "PyUnicode_ReadChar", out.text_char) &&
         find(library, "PyBytes_Size", out.bytes_size) &&
         find(library, "PyBytes_AsString", out.bytes) &&
         find(library, "PyCode_Type", out.code_type) &&
         find(library, "PyUnicode_Type", out.text_type) &&
         find(library, "PyBytes_Type", out.bytes_type);
}

/// Where the function that runs Python code lies. Its library is never to be unloaded: what was
/// found in it goes on being called.
void findEval(void* library, PythonInterpreter& out) {
  void* const eval = dlsym(library, "_PyEval_EvalFrameDefault");
  if (eval == nullptr) return;
  if (dladdr1 == nullptr) return;
  Dl_info info;
  void* extra = nullptr;
  if (dladdr1(eval, &info, &extra, RTLD_DL_SYMENT) != 0 && extra != nullptr) {
    out.eval_begin = reinterpret_cast<uint64_t>(eval);
    out.eval_end = out.eval_begin + static_cast<const ElfW(Sym)*>(extra)->st_size;
  }
  if (dladdr1(eval, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return;
  const char* const path = static_cast<const link_map*>(extra)->l_name;
  if (path == nullptr || path[0] == 0) return;  // the executable
  dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

PythonStatus look(const Loaded& loaded) {
  // Most programs that embed Python load its library for all to see; the others have it by name.
  void* library = RTLD_DEFAULT;
  uint32_t version = versionOf(library);
  if (version == 0 && loaded.python[0] != 0) {
    library = dlopen(loaded.python, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) version = versionOf(library);
  }
  if (version == 0) return PythonStatus::kNone;
  g_version.store(version, std::memory_order_relaxed);
  PythonRuntime& r = g_runtime;
  switch (findPythonLayout(version, dlsym(library, "_PyRuntime"), r.layout)) {
    case PythonLayoutResult::kKnown:
      break;
    case PythonLayoutResult::kUnknownVersion:
      return PythonStatus::kUnknownVersion;
    case PythonLayoutResult::kFreeThreaded:
      return PythonStatus::kFreeThreaded;
    case PythonLayoutResult::kDamaged:
      return PythonStatus::kUnknownLayout;
  }
  if (!findSymbols(library, r)) return PythonStatus::kMissingSymbols;
  r.one_current_thread = version < 0x030c0000;
  r.interpreter.version = version;
  findEval(library, r.interpreter);
  return PythonStatus::kNotYetSeen;
}

}  // namespace

void lookForPython() {
  if (g_status.load(std::memory_order_relaxed) != PythonStatus::kNone) return;
  if (g_looking.exchange(true, std::memory_order_acquire)) return;
  if (g_status.load(std::memory_order_relaxed) == PythonStatus::kNone) {
    Loaded loaded;
    dl_iterate_phdr(visit, &loaded);
    if (loaded.added != g_objects_looked_at.load(std::memory_order_relaxed)) {
      g_objects_looked_at.store(loaded.added, std::memory_order_relaxed);
      const PythonStatus status = look(loaded);
      dlerror();  // names that were not found are no error of the program's
      g_status.store(status, std::memory_order_relaxed);
      if (status == PythonStatus::kNotYetSeen) g_found.store(true, std::memory_order_release);
    }
  }
  g_looking.store(false, std::memory_order_release);
}

const PythonRuntime* foundPython() {
  return g_found.load(std::memory_order_acquire) ? &g_runtime : nullptr;
}

PythonStatus pythonStatus() { return g_status.load(std::memory_order_relaxed); }
uint32_t pythonVersion() { return g_version.load(std::memory_order_relaxed); }

void setPythonProven(bool right) {
  if (!right) g_found.store(false, std::memory_order_relaxed);
  g_status.store(right ? PythonStatus::kReady : PythonStatus::kUnknownLayout,
                 std::memory_order_relaxed);
}

}  // namespace tracesmith::stacks
