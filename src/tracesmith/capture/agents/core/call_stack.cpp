// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/call_stack.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/process/unload_notice.hpp"
#include "tracesmith/stacks/python/python_frames.hpp"
#include "tracesmith/stacks/python/python_runtime.hpp"
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

namespace tracesmith::agent {

std::atomic<bool> g_stacks{false};

namespace {

using stacks::CallPathCache;
using stacks::PythonFrames;

std::atomic<bool> g_native{false};
std::atomic<bool> g_python{false};
stacks::CallPathOptions g_options;
char g_executable[4096];  // path of the executable, which the dynamic loader does not report

/// Writes a record that is not an event: it only counts if it is lost.
template <class Fill>
bool putRecord(uint64_t bytes, Fill&& fill) {
  ThreadState& t = t_state;
  const int before = errno;
  bytes = (bytes + 7) & ~uint64_t{7};
  uint8_t* const p = reserve(t, bytes);
  if (p != nullptr) {
    fill(p, static_cast<uint16_t>(bytes / 8));
    commit(t, bytes);
  } else {
    bump(t.ring->emitted);
  }
  errno = before;
  return p != nullptr;
}

bool writePath(void*, uint32_t first, uint32_t parent, const uint64_t* frames, uint32_t count) {
  const uint64_t bytes = sizeof(arena::PathRecord) + uint64_t{8} * count;
  static_assert(sizeof(arena::PathRecord) + 8 * (CallPathCache::kMostFrames + 1) <=
                arena::kMaxRecordBytes);
  return putRecord(bytes, [&](uint8_t* p, uint16_t words) {
    const arena::PathRecord r{{arena::RecordKind::kPath, 0, words, first}, parent, count};
    memcpy(p, &r, sizeof r);
    memcpy(p + sizeof r, frames, uint64_t{8} * count);
  });
}

bool writeModule(void*, const stacks::LoadedObject& object) {
  const char* const path = *object.path == 0 ? g_executable : object.path;
  size_t path_bytes = strlen(path);
  constexpr size_t kMostPath = 4096;
  if (path_bytes > kMostPath) path_bytes = kMostPath;
  const uint64_t bytes = sizeof(arena::ModuleRecord) + object.id_bytes + path_bytes;
  return putRecord(bytes, [&](uint8_t* p, uint16_t words) {
    const arena::ModuleRecord r{{arena::RecordKind::kModule, 0, words, 0},
                                object.begin,
                                object.end,
                                object.bias,
                                static_cast<uint32_t>(object.id_bytes),
                                static_cast<uint32_t>(path_bytes)};
    memcpy(p, &r, sizeof r);
    memcpy(p + sizeof r, object.id, object.id_bytes);
    memcpy(p + sizeof r + object.id_bytes, path, path_bytes);
  });
}

bool writePythonCode(void*, const stacks::PythonCode& code) {
  arena::PythonCodeRecord r{{arena::RecordKind::kPythonCode, 0, 0, code.number},
                            code.first_line,
                            static_cast<uint32_t>(code.qualified_name.size()),
                            static_cast<uint32_t>(code.file.size()),
                            static_cast<uint32_t>(code.line_table_bytes)};
  uint64_t bytes = sizeof r + r.name_bytes + r.file_bytes;
  // If the table is cut, the lines before the cut are still known.
  const uint64_t room = arena::kMaxRecordBytes - bytes;
  if (r.table_bytes > room) r.table_bytes = static_cast<uint32_t>(room);
  bytes += r.table_bytes;
  return putRecord(bytes, [&](uint8_t* p, uint16_t words) {
    r.header.words = words;
    const auto put = [&p](const void* from, size_t n) {
      memcpy(p, from, n);
      p += n;
    };
    put(&r, sizeof r);
    put(code.qualified_name.data(), r.name_bytes);
    put(code.file.data(), r.file_bytes);
    put(code.line_table, r.table_bytes);
  });
}

bool writePythonInterpreter(void*, const stacks::PythonInterpreter& python) {
  return putRecord(sizeof(arena::PythonInterpreterRecord), [&](uint8_t* p, uint16_t words) {
    const arena::PythonInterpreterRecord r{
        {arena::RecordKind::kPythonInterpreter, 0, words, python.version},
        python.eval_begin,
        python.eval_end};
    memcpy(p, &r, sizeof r);
  });
}

void makeStacks(ThreadState& t) {
  const NoCancel whole;
  const int before = errno;
  t.stacks = CallPathCache::make(g_options, {writePath, writeModule, nullptr});
  if (t.stacks != nullptr && g_python) {
    t.python = PythonFrames::make(t.stacks, {g_options.max_depth, g_options.lock},
                                  {writePythonCode, writePythonInterpreter, nullptr});
  }
  errno = before;
}

}  // namespace

void prepareCallStacks() {
  const char* const wanted = setting(arena::kEnvStacks);
  g_stacks.store(false, std::memory_order_relaxed);
  if (wanted == nullptr) return;
  const bool both = strcmp(wanted, "both") == 0;
  g_native = (both || strcmp(wanted, "native") == 0) && stacks::kUnwinds;
  g_python = both || strcmp(wanted, "python") == 0;
  if (!g_native && !g_python) return;
  stacks::prepareCodeTables();
  if (const char* depth = setting(arena::kEnvStackDepth)) {
    g_options.max_depth = static_cast<uint32_t>(strtoul(depth, nullptr, 10));
  }
  const ssize_t n = readlink("/proc/self/exe", g_executable, sizeof g_executable - 1);
  g_executable[n < 0 ? 0 : n] = 0;
  // The agent's own frames are not part of the program's stack.
  stacks::visitObjectOf(
      reinterpret_cast<uint64_t>(&prepareCallStacks),
      [](const stacks::LoadedObject& object, void*) {
        g_options.skip_begin = object.begin;
        g_options.skip_end = object.end;
      },
      nullptr);
  static bool hears_of_unloads = false;
  // Not by dlsym(): a preloaded agent runs this within a call of dlsym() by the program.
  const auto noticeOf = [](const char* name) {
    return reinterpret_cast<OnUnload>(findExportAnywhere(name));
  };
  auto* const on_unload = noticeOf(kOnUnload);
  auto* const before_unload = noticeOf(kBeforeUnload);
  if (on_unload != nullptr && !hears_of_unloads) on_unload(stacks::forgetUnloadedCode);
  if (before_unload != nullptr && !hears_of_unloads) {
    before_unload(stacks::keepPythonLoaded);
    stacks::pinPythonLater();
  }
  hears_of_unloads = true;
  g_stacks.store(true, std::memory_order_relaxed);
}

[[gnu::noinline]] uint32_t takeCallStack() {
  ThreadState& t = t_state;
  // It only calls itself by way of code that runs when Python objects are released.
  if (__builtin_expect(t.ring == nullptr || isBusy(t), 0)) return 0;
  t.busy = stackPointer();  // tells a signal handler that interrupts this
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(t.stacks == nullptr, 0)) makeStacks(t);
  uint32_t path = 0;
  if (g_native && t.stacks != nullptr) path = t.stacks->capture(TS_CALLER_START_POINT());
  if (t.python != nullptr) path = g_native ? t.python->captureOnto(path) : t.python->capture();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
  return path;
}

void forgetCallStacks(ThreadState& t) {
  if (t.stacks != nullptr) t.stacks->restart();
  if (t.python != nullptr) t.python->restart();
}

void endCallStacks(ThreadState& t) {
  PythonFrames::destroy(t.python);
  t.python = nullptr;
  CallPathCache::destroy(t.stacks);
  t.stacks = nullptr;
}

}  // namespace tracesmith::agent
