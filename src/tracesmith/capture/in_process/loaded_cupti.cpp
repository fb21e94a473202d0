// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/loaded_cupti.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/capture/cupti_profiler.hpp"

namespace tracesmith {
namespace {

/// Calls `use` with each loaded libcupti.
template <class Use>
void forEachCupti(Use use) {
  std::vector<std::string> paths;
  // The loader is locked during the walk, so no library is opened in it.
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        const std::string_view path = object->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libcupti.so")) {  // npos + 1 is 0
          static_cast<std::vector<std::string>*>(data)->emplace_back(path);
        }
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    use(library);
    ::dlclose(library);
  }
}

}  // namespace

uint32_t loadedCuptiVersion() {
  uint32_t version = 0;
  forEachCupti([&](void* library) {
    const auto get = reinterpret_cast<int (*)(uint32_t*)>(::dlsym(library, "cuptiGetVersion"));
    if (version == 0 && (get == nullptr || get(&version) != 0)) version = 0;
  });
  return version;
}

void flushLoadedCupti() {
  forEachCupti([](void* library) {
    const auto flush =
        reinterpret_cast<int (*)(uint32_t)>(::dlsym(library, "cuptiActivityFlushAll"));
    if (flush != nullptr) (void)flush(0);
  });
}

uint32_t CUPTIProfiler::getCuptiVersion() const { return loadedCuptiVersion(); }

}  // namespace tracesmith
