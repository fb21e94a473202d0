// SPDX-License-Identifier: Apache-2.0
// Functions that a program fetches by address. Fetching one loses nothing. If the program calls one
// that changes something, the recording names it as a call that cannot be replayed. So the program
// gets a function of the recorder that calls the driver's.
//
// Extensions take and return only integers and pointers. On x86-64 and AArch64 each of those has a
// register or 8 bytes of the stack, so one form serves every signature: the driver ignores words
// beyond the function's arguments.
#include <string.h>

#include <atomic>
#include <utility>

#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace tracesmith::record {
namespace {

namespace rec = recording;
using Word = uint64_t;
// The longest function, clCommandCopyBufferRectKHR, has 17 arguments.
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                          Word, Word, Word, Word, Word, Word);

struct Extension {
  std::atomic<Function> function{nullptr};
  const char* name = nullptr;  // of kThatWork or kThatMake, or a copy of the program's string
};
constexpr int kMostExtensions = 64;
constinit Extension g_extensions[kMostExtensions];
constinit char g_names[kMostExtensions][64] = {};

bool startsWithAny(const char* name, const char* const* prefixes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
  }
  return false;
}

/// Functions that return an error code.
bool doesWork(const char* name) {
  static const char* const kThatWork[] = {"clEnqueue", "clCommand", "clSetMemObjectArg",
                                          "clFinalizeCommandBuffer"};
  return startsWithAny(name, kThatWork, sizeof kThatWork / sizeof kThatWork[0]);
}

/// Functions that return the new object, or nullptr.
bool makesSomething(const char* name) {
  static const char* const kThatMake[] = {
      "clCreateCommandBuffer", "clImport",         "clCreateFrom",     "clHostMemAlloc",
      "clDeviceMemAlloc",      "clSharedMemAlloc", "clCreateEventFrom"};
  return startsWithAny(name, kThatMake, sizeof kThatMake / sizeof kThatMake[0]);
}

void recordUnsupportedCall(const char* name, Word first, Word result, int64_t start_ns) {
  const bool failed = doesWork(name) ? static_cast<cl_int>(result) != CL_SUCCESS : result == 0;
  if (failed) return;  // it has changed nothing
  bool is_queue = false;
  {
    StateLock lock;
    is_queue = g_objects.queues.find(first) != nullptr;
  }
  rec::Unsupported c;
  c.function = textOf(name);
  c.queue = is_queue ? first : 0;
  put(c, {start_ns, nowNs(), 0, 0});
}

template <int kIndex>
Word called(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k,
            Word l, Word m, Word n, Word o, Word p, Word q, Word r) {
  const Extension& extension = g_extensions[kIndex];
  const Function function = extension.function.load(std::memory_order_acquire);
  const int64_t start_ns = nowNs();
  const Word result = function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  if (active() && inRangeNow()) recordUnsupportedCall(extension.name, a, result, start_ns);
  return result;
}

template <int... kIndices>
Function wrapperAt(int place, std::integer_sequence<int, kIndices...>) {
  static constexpr Function kWrappers[] = {called<kIndices>...};
  return kWrappers[place];
}

/// The recorder's function that calls `function`; nullptr if there are too many.
Function wrapperOf(const char* name, Function function) {
  StateLock lock;
  for (int i = 0; i < kMostExtensions; ++i) {
    Extension& extension = g_extensions[i];
    const Function known = extension.function.load(std::memory_order_relaxed);
    if (known == nullptr) {
      if (strlen(name) >= sizeof g_names[i]) return nullptr;
      strcpy(g_names[i], name);
      extension.name = g_names[i];
      extension.function.store(function, std::memory_order_release);
    } else if (known != function || strcmp(extension.name, name) != 0) {
      continue;
    }
    return wrapperAt(i, std::make_integer_sequence<int, kMostExtensions>());
  }
  return nullptr;
}

void* wrapped(const char* name, void* address) {
  if (name == nullptr || address == nullptr || (!doesWork(name) && !makesSomething(name))) {
    return address;
  }
  if (const Function ours = wrapperOf(name, reinterpret_cast<Function>(address))) {
    return reinterpret_cast<void*>(ours);
  }
  // The recorder will not see the call itself, so report it now.
  Call call;
  call.end(CL_SUCCESS);
  unsupported(name, call);
  return address;
}

}  // namespace
}  // namespace tracesmith::record

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions

extern "C" {

void* CL_API_CALL TS_WRAP(clGetExtensionFunctionAddress)(const char* name) {
  void* const address = next().clGetExtensionFunctionAddress(name);
  return active() ? wrapped(name, address) : address;
}

void* CL_API_CALL TS_WRAP(clGetExtensionFunctionAddressForPlatform)(cl_platform_id platform,
                                                                    const char* name) {
  void* const address = next().clGetExtensionFunctionAddressForPlatform(platform, name);
  return active() ? wrapped(name, address) : address;
}

}  // extern "C"
