// SPDX-License-Identifier: Apache-2.0
#include "outside_recorder.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace tracesmith::python {

namespace nvtx = agent::nvtx;

namespace {

/// A module of functions that the recorder fills in; index 0 is not used.
template <size_t kCount>
struct Module {
  std::array<nvtx::Function, kCount> functions{};
  std::array<nvtx::Function*, kCount + 1> places{};  // null-terminated
  Module() {
    for (size_t i = 1; i < kCount; ++i) places[i] = &functions[i];
  }
};

// Never destroyed: the recorder keeps their addresses.
Module<16>& core() {
  static auto* const one = new Module<16>;
  return *one;
}
Module<16>& core2() {
  static auto* const one = new Module<16>;
  return *one;
}

int moduleFunctions(int32_t module, nvtx::Function*** table, unsigned* entries) {
  if (module != nvtx::kCoreModule && module != nvtx::kCore2Module) return 0;
  Module<16>& wanted = module == nvtx::kCoreModule ? core() : core2();
  if (table != nullptr) *table = wanted.places.data();
  if (entries != nullptr) *entries = 16;
  return 1;
}

const void* exportTable(uint32_t table) {
  static const nvtx::Callbacks callbacks = {sizeof callbacks, moduleFunctions};
  static const nvtx::VersionInfo version = {sizeof version, nvtx::kOurVersion, 0, [](uint32_t) {}};
  if (table == nvtx::kCallbacksTable) return &callbacks;
  return table == nvtx::kVersionTable ? &version : nullptr;
}

template <class F>
void take(F*& function, nvtx::Core2 number) {
  function = reinterpret_cast<F*>(core2().functions[number]);
}

}  // namespace

bool OutsideRecorder::load(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) return false;
  const auto enter =
      reinterpret_cast<int (*)(nvtx::GetExportTable)>(dlsym(library, "InitializeInjectionNvtx2"));
  if (enter == nullptr || enter(exportTable) != 1) return false;
  const nvtx::Domain* (*create)(const char*) = nullptr;
  take(create, nvtx::kDomainCreateA);
  take(start_, nvtx::kDomainRangeStartEx);
  take(end_, nvtx::kDomainRangeEnd);
  take(mark_, nvtx::kDomainMarkEx);
  if (create == nullptr || start_ == nullptr || end_ == nullptr || mark_ == nullptr) return false;
  domain_ = create("tracesmith");
  return true;
}

const OutsideRecorder* OutsideRecorder::find() {
  static const OutsideRecorder* const found = []() -> const OutsideRecorder* {
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    if (path == nullptr || *path == '\0') return nullptr;
    auto* const recorder = new OutsideRecorder;
    return recorder->load(path) ? recorder : nullptr;
  }();
  return found;
}

}  // namespace tracesmith::python
