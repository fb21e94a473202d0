// SPDX-License-Identifier: Apache-2.0
// The Python interpreter of this process, if there is one: its functions, found by name, and its
// layout. TraceSmith neither links nor initialises it.
//
// Runs inside the recorded program: uses only libc. The search never waits for a thread in dlopen()
// (loaded_modules.hpp); foundPython() takes no lock.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/python/python_layout.hpp"

namespace tracesmith::stacks {

enum class PythonStatus : uint8_t {
  kNone,            // no interpreter has been found in this process so far
  kReady,           // its frames can be read
  kUnknownVersion,  // no layout is known for its version
  kFreeThreaded,    // it has no global lock that would keep frames unchanged
  kUnknownLayout,   // its memory does not match the layout of its version
  kMissingSymbols,  // a required function is missing
  kNotYetSeen,      // found, but no frame has confirmed its layout yet
};

/// Distinguishes the interpreter's native frames from others.
struct PythonInterpreter {
  uint32_t version = 0;     // as PY_VERSION_HEX
  uint64_t eval_begin = 0;  // range of the function that runs Python code; 0: unknown
  uint64_t eval_end = 0;
};

struct PythonRuntime {
  PythonLayout layout;
  PythonInterpreter interpreter;
  // Objects are passed as addresses. None of these functions allocates, raises or runs Python code,
  // except Py_DecRef when it frees an object.
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
  /// no state. During finalization only a thread that holds the lock keeps its state. [hot]
  void* threadState(bool& locked) const {
    void* const current = current_thread();
    // 3.11 has one current thread state for the whole process, later versions one per thread.
    if (!one_current_thread && current != nullptr) {
      locked = true;
      return current;
    }
    void* const own = this_thread();
    locked = own != nullptr && own == current;
    return locked || (own != nullptr && is_ending() == 0) ? own : nullptr;
  }
};

/// Searches for an interpreter if objects were loaded since the last search. Any thread.
void searchPython();

/// The interpreter's functions are called as long as the process runs, so its library must not be
/// unloaded. keepPythonLoaded() ensures that, and takes the lock of dlopen(). Call pinPythonLater()
/// if keepPythonLoaded() is called before each dlclose(); otherwise the search pins the library.
void pinPythonLater();
void keepPythonLoaded();

/// The interpreter; nullptr when there is none whose frames can be read. [hot]
const PythonRuntime* foundPython();

PythonStatus pythonStatus();
/// As PY_VERSION_HEX, also for unknown versions; 0 without an interpreter.
uint32_t pythonVersion();

/// Call it when frames have shown that the layout is right, or wrong; in the latter case
/// foundPython() returns nullptr.
void setPythonProven(bool right);

}  // namespace tracesmith::stacks
