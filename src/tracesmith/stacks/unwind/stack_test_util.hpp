// SPDX-License-Identifier: Apache-2.0
// Shared by tests of stacks: a cache whose paths can be read back, and glibc's backtrace.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/stacks/unwind/call_path_cache.hpp"

namespace tracesmith::stacks::test {

/// Keeps what a cache reports, like a collector.
class PathBook {
 public:
  struct Entry {
    uint32_t parent = 0;
    uint64_t word = 0;
  };
  struct Object {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string path;
    size_t id_bytes = 0;
  };

  explicit PathBook(const CallPathOptions& options = {})
      : cache_(CallPathCache::make(options, {path, object, this}), CallPathCache::destroy) {
    prepareCodeTables();
  }

  CallPathCache& cache() { return *cache_; }
  /// Frame words, innermost first; the placeholder for missing callers is the last one.
  std::vector<uint64_t> words(uint32_t id) const {
    std::vector<uint64_t> out;
    for (; id != 0; id = entries_.at(id).parent) out.push_back(entries_.at(id).word);
    return out;
  }
  /// Addresses only, without the placeholder for missing callers.
  std::vector<uint64_t> addresses(uint32_t id) const {
    std::vector<uint64_t> out;
    for (const uint64_t word : words(id)) {
      if ((word & kOtherFrame) == 0) out.push_back(word & kFrameAddressMask);
    }
    return out;
  }
  WalkEnd endOf(uint32_t id) const {
    const std::vector<uint64_t> all = words(id);
    if (all.empty() || (all.back() & kOtherFrame) == 0) return WalkEnd::kOutermost;
    return static_cast<WalkEnd>(all.back() & 0xff);
  }
  const std::vector<Object>& objects() const { return objects_; }

  bool refuses = false;     // like a full ring
  uint64_t path_count = 0;  // number of paths

 private:
  static bool path(void* context, uint32_t first, uint32_t parent, const uint64_t* frames,
                   uint32_t count) {
    auto& self = *static_cast<PathBook*>(context);
    if (self.refuses) return false;
    if (self.entries_.size() < first + count) self.entries_.resize(first + count);
    for (uint32_t i = 0; i < count; ++i) {
      self.entries_[first + i] = {parent, frames[i]};
      parent = first + i;
    }
    self.path_count += count;
    return true;
  }
  static bool object(void* context, const LoadedObject& object) {
    static_cast<PathBook*>(context)->objects_.push_back(
        {object.begin, object.end, object.path, object.id_bytes});
    return true;
  }

  std::vector<Entry> entries_{1};
  std::vector<Object> objects_;
  std::unique_ptr<CallPathCache, void (*)(CallPathCache*)> cache_;
};

/// glibc's own backtrace(), even if another library replaces it.
inline std::vector<uint64_t> glibcBacktrace() {
  using Backtrace = int (*)(void**, int);
  static const auto backtrace =
      reinterpret_cast<Backtrace>(dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "backtrace"));
  void* frames[1024];
  const int n = backtrace(frames, 1024);
  std::vector<uint64_t> out;
  for (int i = 0; i < n; ++i) out.push_back(reinterpret_cast<uint64_t>(frames[i]));
  return out;
}

/// libunwind's, if installed. It is loaded, not linked, because linking would replace glibc's.
inline std::vector<uint64_t> libunwindBacktrace() {
  using Backtrace = int (*)(void**, int);
  static void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  static const auto backtrace =
      library == nullptr ? nullptr : reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  if (backtrace == nullptr) return {};
  void* frames[1024];
  const int n = backtrace(frames, 1024);
  std::vector<uint64_t> out;
  for (int i = 0; i < n; ++i) out.push_back(reinterpret_cast<uint64_t>(frames[i]));
  return out;
}

}  // namespace tracesmith::stacks::test
