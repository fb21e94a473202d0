// SPDX-License-Identifier: Apache-2.0
// Where CUPTI is. A machine may have several: one may be newer than the driver, and refuse.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// Tries the places where a libcupti may lie, the best first: TRACESMITH_CUPTI alone where it is
/// set; else the one that the program has loaded, the loader's from the newest on, the toolkit's,
/// those of Python's packages.
class CuptiSearch {
 public:
  /// Loads the next library that has all functions, and finds them (g_cupti); its handle. Null:
  /// there is none any more.
  void* next();
  /// The name by which the last one was loaded.
  const char* name() const { return name_; }
  /// TRACESMITH_CUPTI or the program has chosen it: no other one is to be used.
  bool isChosen() const { return chosen_; }
  /// Call after the first next() has returned null: why no library was found.
  void describeFailure(char* out, size_t bytes) const;

 private:
  static constexpr size_t kMostTried = 32;
  void* load(const char* name, int how);
  void* fromLoader();
  void* fromToolkit();
  void* fromPackages();
  bool isNew(const void* library);

  enum class Step { kNamed, kLoaded, kLoader, kToolkit, kPackages, kEnd };
  Step step_ = Step::kNamed;
  size_t at_ = 0;  // within the step
  const char* packages_ = nullptr;
  const void* tried_[kMostTried] = {};
  size_t tried_count_ = 0;
  bool chosen_ = false;
  char name_[512] = {};
  const char* missing_ = nullptr;  // a function that the last library did not have
};

}  // namespace tracesmith::agent
