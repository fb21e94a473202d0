// SPDX-License-Identifier: Apache-2.0
// Handles calls: of built-in functions, of functions of the program, and of unknown ones.
#include <algorithm>

#include "tracesmith/analysis/kernel_source/kernel_parser.hpp"

namespace tracesmith::races {
namespace {

/// What a built-in function does with its pointer arguments. kOther: not built in.
enum class BuiltIn : uint8_t { kOther, kNothing, kReads, kWrites, kBoth, kCopies };
BuiltIn builtInOf(std::string_view f) {
  if (startsWith(f, "atomic_load")) return BuiltIn::kReads;
  if (startsWith(f, "atomic_store") || f == "atomic_init" || startsWith(f, "atomic_flag_clear")) {
    return BuiltIn::kWrites;
  }
  if (startsWith(f, "atomic_") || startsWith(f, "atom_")) return BuiltIn::kBoth;
  if (startsWith(f, "vload") || startsWith(f, "read_image")) return BuiltIn::kReads;
  if (startsWith(f, "vstore")) return BuiltIn::kWrites;
  if (startsWith(f, "async_work_group_") || startsWith(f, "async_copy_")) return BuiltIn::kCopies;
  static const std::unordered_set<std::string_view> kWriting = {
      "fract",    "frexp",        "modf",         "remquo",        "sincos",
      "lgamma_r", "write_imagef", "write_imagei", "write_imageui", "write_imageh"};
  if (kWriting.contains(f)) return BuiltIn::kWrites;
  static const std::unordered_set<std::string_view> kNothing = {"prefetch",
                                                                "wait_group_events",
                                                                "printf",
                                                                "get_fence",
                                                                "barrier",
                                                                "mem_fence",
                                                                "work_group_barrier",
                                                                "sizeof",
                                                                "if",
                                                                "while",
                                                                "for",
                                                                "switch"};
  if (kNothing.contains(f) || startsWith(f, "get_image_")) return BuiltIn::kNothing;
  return BuiltIn::kOther;
}

}  // namespace

KernelParser::Value KernelParser::call(std::string_view name) {
  std::vector<Value> given;
  std::vector<ParameterSet> arguments;
  expect("(");
  while (!isEnd() && !next(")") && effects_.understood) {
    if (accept(",")) continue;
    const size_t before = at_;
    given.push_back(assignment());
    const bool is_address = given.back().is_address || isToLocal(given.back());
    arguments.push_back(is_address ? setOf(given.back().variable) : read(given.back()));
    if (at_ == before) effects_.understood = false;
  }
  expect(")");
  ParameterSet all = 0;
  for (const ParameterSet a : arguments) all |= a;
  if (const FunctionEffects* known = names_.effects(name)) {
    return {.from = apply(*known, given, arguments)};
  }
  for (const Value& value : given) {
    // Built-in functions keep no addresses, but what they store comes from the other arguments.
    if (value.is_address && builtInOf(name) == BuiltIn::kOther) escape(value);
  }
  if (all == 0) return {};
  switch (builtInOf(name)) {
    case BuiltIn::kNothing:
      return {};
    case BuiltIn::kReads:
      effects_.read |= all;
      return {};
    case BuiltIn::kWrites:
      effects_.written |= all;
      return {};
    case BuiltIn::kBoth:
      effects_.read |= all;
      effects_.written |= all;
      return {};
    case BuiltIn::kCopies:
      effects_.written |= arguments[0];
      for (size_t i = 1; i < arguments.size(); ++i) effects_.read |= arguments[i];
      return {};
    case BuiltIn::kOther:
      break;
  }
  if (isTypeWord(name, names_) || startsWith(name, "as_") || startsWith(name, "convert_")) {
    return {.from = all};
  }
  effects_.lost |= all;
  return {.from = all};
}

ParameterSet KernelParser::apply(const FunctionEffects& known, const std::vector<Value>& given,
                                 const std::vector<ParameterSet>& arguments) {
  ParameterSet returned = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ParameterSet bit = parameterBit(i);
    const bool to_local = given[i].is_address || isToLocal(given[i]);
    if (!known.understood || (known.lost & bit) != 0) {
      effects_.lost |= arguments[i];
      if (to_local) escape(given[i]);
    }
    // The address of a variable leads to the variable; memory is reached only through what it
    // holds.
    const ParameterSet first = to_local ? 0 : arguments[i];
    if ((known.read & bit) != 0) effects_.read |= first;
    if ((known.written & bit) != 0) effects_.written |= first;
    ParameterSet& read_deep = to_local ? effects_.read : effects_.read_deep;
    ParameterSet& written_deep = to_local ? effects_.written : effects_.written_deep;
    if ((known.read_deep & bit) != 0) read_deep |= arguments[i];
    if ((known.written_deep & bit) != 0) written_deep |= arguments[i];
    if ((known.returned & bit) != 0) returned |= arguments[i];
    ParameterSet put = 0;
    for (size_t j = 0; j < arguments.size(); ++j) {
      if ((known.into[std::min<size_t>(i, 63)] & parameterBit(j)) != 0) put |= arguments[j];
    }
    if (put == 0) continue;
    if (to_local) {
      add(given[i].variable, put);
    } else if (arguments[i] == 0) {
      effects_.lost |= put;
    } else {
      for (size_t k = 0; k < effects_.into.size(); ++k) {
        if ((arguments[i] >> k & 1) != 0) effects_.into[k] |= put;
      }
    }
  }
  return returned;
}

}  // namespace tracesmith::races
