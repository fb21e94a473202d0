// SPDX-License-Identifier: Apache-2.0
// Bandwidths of communication, as nccl-tests defines them (doc/PERFORMANCE.md of
// NVIDIA/nccl-tests):
//   algbw = S / t
//   busbw = algbw * f   what each rank's connection would carry with the best algorithm
//
// where
// - all_reduce: f = 2 (n-1) / n, S = the buffer of a rank;
// - all_gather: f = (n-1) / n, S = what a rank has received at the end;
// - reduce_scatter, all_to_all: f = (n-1) / n, S = what a rank sends;
// - gather, scatter: f = (n-1) / n, S = the buffer of the root;
// - broadcast, reduce, send, recv, send_recv: f = 1, S = the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {

/// S of one rank's call: of the bytes that it sends and those that it receives the larger. `ranks`
/// counts where a rank that is no root knows only its own part of a gather or scatter. 0: unknown.
uint64_t operationBytes(CollectiveOp op, std::string_view function, uint64_t ranks,
                        uint64_t send_bytes, uint64_t receive_bytes);

/// Whether the parts of the ranks may differ, as in MPI_Gatherv: one says nothing about others.
bool hasUnequalParts(std::string_view function);

/// f; nullopt for operations that have none, and for an unknown number of ranks.
std::optional<double> busFactor(CollectiveOp op, uint64_t ranks);

/// In bytes per second; 0 if nothing is known.
double algorithmBandwidth(uint64_t bytes, int64_t duration_ns);

/// Whether all ranks wait for all others: no rank's result is complete before each has come.
bool waitsForAll(CollectiveOp op);
/// Whether one of the ranks is the root.
bool hasRoot(CollectiveOp op);

}  // namespace tracesmith
