// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_runtime.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "tracesmith/base/linux/loaded_modules.hpp"

namespace tracesmith::stacks {
namespace {

PythonRuntime g_runtime;  // written once, before g_found is set
std::atomic<bool> g_searching{false};
std::atomic<bool> g_found{false};
std::atomic<uint64_t> g_objects_looked_at{0};
std::atomic<uint32_t> g_version{0};
std::atomic<PythonStatus> g_status{PythonStatus::kNone};

/// Path of the interpreter's library; empty: it does not need to be pinned.
char g_library_path[4096] = "";
std::atomic<bool> g_must_be_pinned{false};
std::atomic<bool> g_pin_later{false};

/// The module of an interpreter, plus the program: the program has copies of those of the
/// interpreter's variables that it uses, and the interpreter uses the copies.
class Library {
 public:
  /// Finds the first one in load order. False: there is none.
  bool find() {
    bool is_first = true;
    return anyModule([&](const LoadedModule& module) {
      if (is_first) program_ = module;
      is_first = false;
      library_ = module;
      return findExport(module, "Py_GetVersion") != nullptr;
    });
  }
  bool isProgram() const { return library_.begin == program_.begin; }
  const LoadedModule& module() const { return library_; }

  Definition definition(const char* name) const {
    Definition found;
    if (!findDefinition(program_, name, found)) (void)findDefinition(library_, name, found);
    return found;
  }
  template <class T>
  bool find(const char* name, T& out) const {
    out = reinterpret_cast<T>(definition(name).address);
    return out != nullptr;
  }

 private:
  LoadedModule program_;
  LoadedModule library_;
};

uint32_t versionOf(const Library& library) {
  if (const void* const p = library.definition("Py_Version").address) {  // since 3.11
    unsigned long version = 0;
    memcpy(&version, p, sizeof version);
    return static_cast<uint32_t>(version);
  }
  const char* (*text)() = nullptr;
  if (!library.find("Py_GetVersion", text)) return 0;
  char* end = nullptr;
  const auto major = static_cast<uint32_t>(strtoul(text(), &end, 10));
  const auto minor = *end == '.' ? static_cast<uint32_t>(strtoul(end + 1, nullptr, 10)) : 0;
  return (major & 0xff) << 24 | (minor & 0xff) << 16;
}

bool findSymbols(const Library& library, PythonRuntime& out) {
  return (library.find("PyThreadState_GetUnchecked", out.current_thread) ||
          library.find("_PyThreadState_UncheckedGet", out.current_thread)) &&
         library.find("PyGILState_GetThisThreadState", out.this_thread) &&
         (library.find("Py_IsFinalizing", out.is_ending) ||
          library.find("_Py_IsFinalizing", out.is_ending)) &&
         library.find("PyThreadState_GetInterpreter", out.thread_interpreter) &&
         library.find("PyInterpreterState_GetID", out.interpreter_id) &&
         library.find("Py_IncRef", out.hold) && library.find("Py_DecRef", out.release) &&
         library.find("PyUnicode_GetLength", out.text_length) &&
         library.find("PyUnicode_ReadChar", out.text_char) &&
         library.find("PyBytes_Size", out.bytes_size) &&
         library.find("PyBytes_AsString", out.bytes) &&
         library.find("PyCode_Type", out.code_type) &&
         library.find("PyUnicode_Type", out.text_type) &&
         library.find("PyBytes_Type", out.bytes_type);
}

/// Finds the address range of the function that runs Python code.
void findEval(const Library& library, PythonInterpreter& out) {
  const Definition eval = library.definition("_PyEval_EvalFrameDefault");
  if (eval.address == nullptr) return;
  out.eval_begin = reinterpret_cast<uint64_t>(eval.address);
  out.eval_end = out.eval_begin + eval.bytes;
}

/// Prevents the unloading of the library, because its functions are called from now on.
void neverUnload(const Library& library) {
  const char* const path = library.module().path;
  if (library.isProgram() || strlen(path) >= sizeof g_library_path) return;
  strcpy(g_library_path, path);
  g_must_be_pinned.store(true, std::memory_order_release);
  if (!g_pin_later.load()) keepPythonLoaded();
}

PythonStatus look() {
  Library library;
  if (!library.find()) return PythonStatus::kNone;
  const uint32_t version = versionOf(library);
  if (version == 0) return PythonStatus::kNone;
  g_version.store(version, std::memory_order_relaxed);
  PythonRuntime& r = g_runtime;
  switch (findPythonLayout(version, library.definition("_PyRuntime").address, r.layout)) {
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
  neverUnload(library);
  return PythonStatus::kNotYetSeen;
}

}  // namespace

void pinPythonLater() { g_pin_later.store(true); }

void keepPythonLoaded() {
  if (!g_must_be_pinned.exchange(false, std::memory_order_acquire)) return;
  (void)dlopen(g_library_path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void searchPython() {
  if (g_status.load(std::memory_order_relaxed) != PythonStatus::kNone) return;
  if (g_searching.exchange(true, std::memory_order_acquire)) return;
  if (g_status.load(std::memory_order_relaxed) == PythonStatus::kNone) {
    const uint64_t loaded = loadCounts().loaded;
    if (loaded != g_objects_looked_at.load(std::memory_order_relaxed)) {
      g_objects_looked_at.store(loaded, std::memory_order_relaxed);
      const PythonStatus status = look();
      g_status.store(status, std::memory_order_relaxed);
      if (status == PythonStatus::kNotYetSeen) g_found.store(true, std::memory_order_release);
    }
  }
  g_searching.store(false, std::memory_order_release);
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
