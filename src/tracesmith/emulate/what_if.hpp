// SPDX-License-Identifier: Apache-2.0
// Hypothetical changes to a program: kernels that are faster, removed or fused, more or fewer
// streams, faster copies. docs/whatif.md states the assumptions of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator_graph.hpp"
#include "tracesmith/emulate/name_selector.hpp"

namespace tracesmith {

/// Changes as text, in the command-line form.
struct WhatIfTexts {
  std::vector<std::string> scale, remove, fuse, bandwidth;
  std::optional<uint64_t> streams;
};

struct WhatIf {
  struct Scale {
    NameSelector what;
    double factor = 1;  ///< of durations: 0.5 is twice as fast
  };
  struct Bandwidth {
    std::optional<CopyKind> direction;  ///< none: all
    double factor = 1;                  ///< 2 is twice as fast
  };
  std::vector<Scale> scale;
  std::vector<Bandwidth> bandwidth;
  std::vector<NameSelector> remove;
  std::vector<NameSelector> fuse;
  std::optional<uint32_t> streams;  ///< per device of each process

  bool nothing() const {
    return scale.empty() && bandwidth.empty() && remove.empty() && fuse.empty() && !streams;
  }

  // Parse the command-line form; fail with kInvalidArgument.
  static Result<Scale> parseScale(std::string_view text);          ///< "kernel=RE:0.5"
  static Result<Bandwidth> parseBandwidth(std::string_view text);  ///< "2x", "h2d=1.5"
  static Result<WhatIf> parse(const WhatIfTexts& texts);           ///< an error names the option
};

/// Effect of a change on the program.
struct WhatIfEffect {
  std::string change;    ///< "scale kernel=gemm:0.5"
  uint64_t matched = 0;  ///< operations or calls
  int64_t recorded_ns = 0;
  uint64_t calls = 0;  ///< calls that are no longer made
  std::string note;
};

/// Returns the graph with all changes, applied in the order remove, fuse, scale, bandwidth,
/// streams. Fails with kInvalidArgument if a change matches nothing in the trace.
Result<EmulatorGraph> changed(const Trace& trace, const EmulatorGraph& graph, const WhatIf& change,
                              std::vector<WhatIfEffect>& effects);

/// The process that launched an operation.
ProcessId processOf(const Trace& trace, const EmulatedOp& op);

}  // namespace tracesmith
