// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/cupti_library.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/capture/agents/cuda/activity.hpp"

namespace tracesmith::agent {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                  "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                  "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                  "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
constexpr size_t kNameCount = sizeof kNames / sizeof *kNames;
constexpr const char* kFoldersOfToolkit[] = {"extras/CUPTI/lib64", "lib64"};
constexpr size_t kFolderCount = sizeof kFoldersOfToolkit / sizeof *kFoldersOfToolkit;

/// Null, or the name of a function that this library lacks.
const char* findFunctions(void* library) {
  const char* missing = nullptr;
#define TS_X(name, optional, parameters)                                          \
  g_cupti.name = reinterpret_cast<decltype(g_cupti.name)>(dlsym(library, #name)); \
  if (g_cupti.name == nullptr && !(optional)) missing = #name;
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
  return missing;
}

}  // namespace

bool CuptiSearch::isNew(const void* library) {
  for (size_t i = 0; i < tried_count_; ++i) {
    if (tried_[i] == library) return false;
  }
  if (tried_count_ < kMostTried) tried_[tried_count_++] = library;
  return true;
}

void* CuptiSearch::load(const char* name, int how) {
  void* const library = dlopen(name, RTLD_NOW | how);
  if (library == nullptr || !isNew(library)) return nullptr;
  if (const char* const missing = findFunctions(library)) {
    missing_ = missing;
    return nullptr;
  }
  snprintf(name_, sizeof name_, "%s", name);
  return library;
}

void* CuptiSearch::fromLoader() {
  const int how = step_ == Step::kLoaded ? RTLD_NOLOAD : 0;
  while (at_ < kNameCount) {
    if (void* const library = load(kNames[at_++], how)) return library;
  }
  return nullptr;
}

/// Toolkits install it outside of the dynamic loader's path.
void* CuptiSearch::fromToolkit() {
  const char* const homes[] = {getenv("CUDA_HOME"), "/usr/local/cuda"};
  while (at_ < 2 * kFolderCount) {
    const char* const home = homes[at_ / kFolderCount];
    const char* const folder = kFoldersOfToolkit[at_ % kFolderCount];
    ++at_;
    if (home == nullptr) continue;
    char path[512];
    snprintf(path, sizeof path, "%.400s/%s/libcupti.so", home, folder);
    if (void* const library = load(path, 0)) return library;
  }
  return nullptr;
}

/// Python packages contain one. `tracesmith` of such a Python sets a list of files, separated by
/// ':'.
void* CuptiSearch::fromPackages() {
  if (at_++ == 0) packages_ = getenv("TRACESMITH_CUPTI_FALLBACK");
  while (packages_ != nullptr && *packages_ != '\0') {
    const char* const end = strchrnul(packages_, ':');
    char path[512];
    snprintf(path, sizeof path, "%.*s", static_cast<int>(end - packages_), packages_);
    const bool is_empty = end == packages_;  // "" would load the program itself
    packages_ = *end == '\0' ? end : end + 1;
    void* const library = is_empty ? nullptr : load(path, 0);
    if (library != nullptr) return library;
  }
  return nullptr;
}

void* CuptiSearch::next() {
  if (step_ == Step::kNamed) {
    if (const char* const named = getenv("TRACESMITH_CUPTI")) {
      step_ = Step::kEnd;
      chosen_ = true;
      return load(named, 0);
    }
    step_ = Step::kLoaded;
  }
  for (; step_ != Step::kEnd; step_ = static_cast<Step>(static_cast<int>(step_) + 1), at_ = 0) {
    chosen_ = step_ == Step::kLoaded;
    void* const library = step_ == Step::kToolkit    ? fromToolkit()
                          : step_ == Step::kPackages ? fromPackages()
                                                     : fromLoader();
    if (library != nullptr) return library;
  }
  chosen_ = false;
  return nullptr;
}

void CuptiSearch::describeFailure(char* out, size_t bytes) const {
  const char* const named = getenv("TRACESMITH_CUPTI");
  if (missing_ != nullptr) {
    snprintf(out, bytes, "this libcupti is too old or too new: it has no %s", missing_);
  } else if (named != nullptr) {
    snprintf(out, bytes, "TRACESMITH_CUPTI names %.300s, but this file cannot be loaded", named);
  } else {
    snprintf(out, bytes,
             "libcupti was not found; it comes with the CUDA toolkit and with PyTorch "
             "(set TRACESMITH_CUPTI to its path)");
  }
}

}  // namespace tracesmith::agent
