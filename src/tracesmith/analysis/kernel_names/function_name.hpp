// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel's C++ name.
//
//   void at::native::(anonymous namespace)::fill<float, 4>(float*, int)
//        \______________ scope ____________/\name/\ args /
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

/// Views of the name that was split.
struct FunctionName {
  std::string_view scope;  ///< with the "::" at its end
  std::string_view name;
  std::string_view template_arguments;  ///< without the outer < and >
  std::string_view head;                ///< all of the above
};

/// Splits a demangled name (Itanium ABI as printed by c++filt, or as NVIDIA's tools print it). Any
/// other text is a name without scope and arguments.
FunctionName splitFunctionName(std::string_view full);

/// The text of a mangled name ("_ZN5aiter3addIfEEvPf" -> "aiter::add<float>") without its function
/// parameters. Unlike a demangler it leaves out back references, which can make a demangled name
/// exponentially longer than the mangled one, and the types of functions.
std::string readMangledName(std::string_view mangled);

}  // namespace tracesmith
