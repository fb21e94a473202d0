// SPDX-License-Identifier: Apache-2.0
// The Python interpreter of this process, if there is one: its functions, found by name, and its
// layout. It is never linked with and never initialised.
//
// Part of what enters other people's programs: libc alone. Looking waits for nobody who may be in
// dlopen() (loaded_modules.hpp); asking for what was found takes no lock.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/python/python_layout.hpp"

namespace tracesmith::stacks {

enum class PythonStatus : uint8_t {
  kNone,            // no interpreter was found in this process so far
  kReady,           // its frames can be told
  kUnknownVersion,  // no layout is known for its version
  kFreeThreaded,    // it has no global lock that would keep frames as they are
  kUnknownLayout,   // it is not laid out as its version should be
  kMissingSymbols,  // it does not have all functions that are needed
  kNotYetSeen,      // there is one, but no frame was seen yet that shows its layout to be right
};

/// What tells an interpreter's native frames from others.
struct PythonInterpreter {
  uint32_t version = 0;     // as PY_VERSION_HEX
  uint64_t eval_begin = 0;  // the function that runs Python code, [begin, end); 0: not known
  uint64_t eval_end = 0;
};

struct PythonRuntime {
  PythonLayout layout;
  PythonInterpreter interpreter;
  // Objects are given as addresses. None of these allocates, raises or runs Python code, but
  // Py_DecRef: it frees what it was the last to hold.
  void* (*current_thread)() = nullptr;  // _PyThreadState_UncheckedGet
  void* (*this_thread)() = nullptr;     // PyGILState_GetThisThreadState
  int (*is_ending)() = nullptr;         // Py_IsFinalizing
  bool one_current_thread = false;
  void* (*thread_interpreter)(void*) = nullptr;
  int64_t (*interpreter_id)(void*) = nullptr;
  void (*hold)(void*) = nullptr;
  void (*release)(void*) = nullptr;
  int64_t (*text_length)(void*) = nullptr;
  uint32_t (*text_char)(void*, int64_t) = nullptr;
  int64_t (*bytes_size)(void*) = nullptr;
  char* (*bytes)(void*) = nullptr;
  const void* code_type = nullptr;
  const void* text_type = nullptr;
  const void* bytes_type = nullptr;

  /// The calling thread's state, and whether it holds the interpreter's lock; nullptr when it has
  /// none. While the interpreter ends only a thread that holds the lock keeps its state. [hot]
  void* threadState(bool& locked) const {
    void* const current = current_thread();
    // 3.11 has one current thread state for the whole process, later ones one for each thread.
    if (!one_current_thread && current != nullptr) {
      locked = true;
      return current;
    }
    void* const own = this_thread();
    locked = own != nullptr && own == current;
    return locked || (own != nullptr && is_ending() == 0) ? own : nullptr;
  }
};

/// Looks for an interpreter if objects were loaded since the last time; any thread may.
void lookForPython();

/// What was found is called for as long as the process runs, so its library must not be unloaded.
/// keepPythonLoaded() sees to that, and takes the lock of dlopen(). Call pinPythonLater() where
/// keepPythonLoaded() is called before each dlclose(); else looking does it.
void pinPythonLater();
void keepPythonLoaded();

/// What was found; nullptr when there is none whose frames could be told. [hot]
const PythonRuntime* foundPython();

PythonStatus pythonStatus();
/// As PY_VERSION_HEX, also where the version is not known; 0 without an interpreter.
uint32_t pythonVersion();

/// Frames have shown the layout to be right, or to be wrong: then foundPython() finds none.
void setPythonProven(bool right);

}  // namespace tracesmith::stacks
