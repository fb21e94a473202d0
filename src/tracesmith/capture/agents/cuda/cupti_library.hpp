// SPDX-License-Identifier: Apache-2.0
// Finds CUPTI. A machine may have several; one may be too new for the driver, and refuse to work.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// Tries the places of libcupti, the best first. If TRACESMITH_CUPTI is set, it is the only one.
/// Otherwise: the library that the program has loaded, those of the dynamic loader from the newest
/// on, the toolkit's, those of Python packages.
class CuptiSearch {
 public:
  /// Loads the next library that has all functions, and resolves them (g_cupti). Returns its
  /// handle; null: there are no more.
  void* next();
  /// The name by which the last library was loaded.
  const char* name() const { return name_; }
  /// TRACESMITH_CUPTI or the program has chosen the library: do not use another one.
  bool isChosen() const { return chosen_; }
  /// The reason why no library was found. Call after the first next() has returned null.
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
