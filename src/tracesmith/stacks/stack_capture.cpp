// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/stack_capture.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tracesmith/base/demangle.hpp"
#include "tracesmith/stacks/symbols/symbolizer.hpp"
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

namespace tracesmith {

using stacks::CallPathCache;

namespace {

/// Refuses all paths: they get no numbers.
constexpr stacks::CallPathSink kNoSink{
    [](void*, uint32_t, uint32_t, const uint64_t*, uint32_t) { return false; }, nullptr, nullptr};

stacks::CallPathOptions optionsOf(const StackCaptureConfig& config) {
  stacks::CallPathOptions options;
  options.max_depth = std::min(config.max_depth + config.skip_frames, CallPathCache::kMostFrames);
  if (config.async_signal_safe) options.lock = stacks::TableLock::kNever;
  return options;
}

ModuleAddress moduleAddressOf(uint64_t address) {
  ModuleAddress out;
  struct Context {
    ModuleAddress& out;
    uint64_t address;
  } context{out, address};
  stacks::visitObjectOf(
      address - 1,
      [](const stacks::LoadedObject& object, void* pointer) {
        const auto& c = *static_cast<Context*>(pointer);
        c.out.offset = c.address - object.bias;
        c.out.module = object.path;
        for (size_t i = 0; i < object.id_bytes; ++i) {
          c.out.build_id += fmt::format("{:02x}", object.id[i]);
        }
      },
      &context);
  if (out.offset != 0 && out.module.empty()) {
    std::error_code error;
    out.module = std::filesystem::read_symlink("/proc/self/exe", error).string();
  }
  return out;
}

}  // namespace

StackCapture::StackCapture(const StackCaptureConfig& config) : config_(config) {
  stacks::prepareCodeTables();
  if (isAvailable()) cache_ = CallPathCache::make(optionsOf(config_), kNoSink);
}

StackCapture::~StackCapture() { CallPathCache::destroy(cache_); }

bool StackCapture::isAvailable() { return stacks::kUnwinds; }

uint64_t StackCapture::getCurrentThreadId() { return static_cast<uint64_t>(syscall(SYS_gettid)); }

[[gnu::noinline]] size_t StackCapture::capture(CallStack& stack) {
  const stacks::StartPoint start = TS_CALLER_START_POINT();
  stack.thread_id = getCurrentThreadId();
  return captureFrom(start.pc, start.sp, start.fp, stack);
}

[[gnu::noinline]] size_t StackCapture::captureWithThreadId(CallStack& stack, uint64_t thread_id) {
  const stacks::StartPoint start = TS_CALLER_START_POINT();
  stack.thread_id = thread_id;
  return captureFrom(start.pc, start.sp, start.fp, stack);
}

size_t StackCapture::captureFrom(uint64_t pc, uint64_t sp, uint64_t fp, CallStack& stack) {
  stack.frames.clear();
  // A signal handler may have interrupted a thread that is using the cache.
  const bool taken = cache_ == nullptr || in_use_.test_and_set(std::memory_order_acquire);
  CallPathCache* const cache = taken ? CallPathCache::make(optionsOf(config_), kNoSink) : cache_;
  if (cache == nullptr) return 0;
  uint64_t words[CallPathCache::kMostFrames];
  const uint32_t count = cache->frames({pc, sp, fp}, words, CallPathCache::kMostFrames);
  if (taken) {
    CallPathCache::destroy(cache);
  } else {
    in_use_.clear(std::memory_order_release);
  }
  for (uint32_t i = config_.skip_frames; i < count; ++i) {
    if (stack.frames.size() == config_.max_depth) break;
    if (config_.async_signal_safe && stack.frames.size() == stack.frames.capacity()) break;
    stack.frames.emplace_back().address = words[i] & stacks::kFrameAddressMask;
  }
  if (config_.resolve_symbols && !config_.async_signal_safe) resolveSymbols(stack);
  return stack.frames.size();
}

void StackCapture::resolveSymbols(CallStack& stack) {
  const std::lock_guard lock(naming_);
  if (Symbolizer::isAvailable() && config_.demangle && symbolizer_ == nullptr) {
    symbolizer_ = std::make_unique<Symbolizer>();
  }
  for (StackFrame& frame : stack.frames) {
    if (!frame.function_name.empty() || frame.address == 0) continue;
    const ModuleAddress at = moduleAddressOf(frame.address);
    frame.module = at.module;
    if (symbolizer_ != nullptr) {
      const auto found = symbolizer_->lookup(at);
      if (!found.empty()) {
        frame.function_name = found.front().function;
        frame.file_name = found.front().file;
        frame.line_number = found.front().line;
        continue;
      }
    }
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(frame.address - 1), &info) == 0) continue;
    if (info.dli_sname != nullptr) {
      const std::string name = info.dli_sname;
      frame.function_name = config_.demangle ? demangled({&name, 1}).front() : name;
    }
  }
}

[[gnu::noinline]] ScopedStackCapture::ScopedStackCapture(StackCapture& capture) {
  capture.capture(stack_);
  // Remove the first frame, which is this constructor.
  if (!stack_.frames.empty()) stack_.frames.erase(stack_.frames.begin());
}

}  // namespace tracesmith
