// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a file of a topology, and the routes in what was read.
#include "tracesmith/topology/routes.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace topo = tracesmith::topology;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = topo::readTopologyText({reinterpret_cast<const char*>(data), size}, "input");
  if (!read || read->nodes.size() > 32) return 0;
  for (topo::NodeIndex a = 0; a < read->nodes.size(); ++a) {
    (void)read->label(a);
    for (topo::NodeIndex b = 0; b < read->nodes.size(); ++b) {
      const topo::Path path = topo::Routes(*read).between(a, b);
      if ((path.path_class == topo::PathClass::kSelf) != (a == b)) __builtin_trap();
    }
  }
  return 0;
}
