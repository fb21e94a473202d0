// SPDX-License-Identifier: Apache-2.0
// Copies the events of a trace into another one, block by block as they are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/format/block_appender.hpp"
#include "tracesmith/format/block_encoder.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/name_set.hpp"

namespace tracesmith::sbt {

/// Appends the events of `from` that lie before the byte `until`, and what goes with them:
/// attributes, pending commands, commit marks, samples of clocks. `to` must already have all
/// strings and dictionaries of `from` under the same ids. Adds the names of the kernels to
/// `kernel_names`, and damage that was left out to `losses`.
Status copyEvents(const BlockLog& from, uint64_t until, BlockAppender& to, BlockEncoder& encoder,
                  NameSet& kernel_names, std::vector<DataLoss>& losses);

}  // namespace tracesmith::sbt
