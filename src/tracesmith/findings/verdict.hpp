// SPDX-License-Identifier: Apache-2.0
// What stands above the findings: wrong results, ranks that others wait for, how busy the devices
// were, what the rest of the time was, and which kernel took most.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/findings/facts.hpp"
#include "tracesmith/findings/finding.hpp"

namespace tracesmith::findings {

std::string verdictOf(const Facts& facts, const std::vector<Finding>& list);

}  // namespace tracesmith::findings
