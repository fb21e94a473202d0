// SPDX-License-Identifier: Apache-2.0
// Selections shared by tests of several exports.
#pragma once

#include <optional>

#include "tracesmith/export/select/selection.hpp"

namespace tracesmith {

inline Selection everything(const Trace& trace) {
  return Selection(trace, std::nullopt, std::nullopt, {});
}

}  // namespace tracesmith
