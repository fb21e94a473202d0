// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/fleet_summary.hpp"

#include "tracesmith/fleet/add_sums.hpp"

namespace tracesmith {

void FleetSummary::add(const FleetSummary& other) { addTo(*this, other); }

}  // namespace tracesmith
