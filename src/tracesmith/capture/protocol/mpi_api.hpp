// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that are recorded, and what their arguments mean. Their numbers are in
// records, so append new functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

/// How the bytes of a call follow from its counts and types.
enum class MpiVolume : uint8_t {
  kNone,
  kOneWay,    // one message, in the direction of the kind
  kBothWays,  // a message either way
  kBroadcast,
  kReduce,              // every rank sends, the root receives
  kReduceAll,           // every rank sends and receives the same
  kReduceScatter,       // a count for each rank
  kReduceScatterBlock,  // one count for all ranks
  kGather,              // the root receives a block from each rank
  kGatherv,
  kScatter,
  kScatterv,
  kGatherAll,
  kGatherAllv,
  kAllToAll,
  kAllToAllv,
  kAllToAllw,  // a type for each rank
};

// X(C name, Fortran name, number of arguments, their roles, kind, volume)
//
// Roles, a letter for each argument:
//   b  send buffer           c  send count(s)        t  send type(s)
//   B  receive buffer        k  receive count(s)     y  receive type(s)
//   d  destination           s  source               o  root
//   g  send tag              h  receive tag          m  communicator
//   M  new communicator (out, or in and out)         r  request (out)
//   q  request (in and out)  n  number of requests   Q  requests (in and out)
//   f  whether completed (out)                       i  index of the completed request (out)
//   x  number of completed requests (out)            X  their indices (out)
//   u  status (out)          U  statuses (out)       .  not looked at
#define TS_MPI_MESSAGES(X)                                                                        \
  X(Send, send, 6, "bctdgm", kSend, kOneWay)                                                      \
  X(Bsend, bsend, 6, "bctdgm", kSend, kOneWay)                                                    \
  X(Ssend, ssend, 6, "bctdgm", kSend, kOneWay)                                                    \
  X(Rsend, rsend, 6, "bctdgm", kSend, kOneWay)                                                    \
  X(Recv, recv, 7, "Bkyshmu", kReceive, kOneWay)                                                  \
  X(Isend, isend, 7, "bctdgmr", kSend, kOneWay)                                                   \
  X(Ibsend, ibsend, 7, "bctdgmr", kSend, kOneWay)                                                 \
  X(Issend, issend, 7, "bctdgmr", kSend, kOneWay)                                                 \
  X(Irsend, irsend, 7, "bctdgmr", kSend, kOneWay)                                                 \
  X(Irecv, irecv, 7, "Bkyshmr", kReceive, kOneWay)                                                \
  X(Sendrecv, sendrecv, 12, "bctdgBkyshmu", kExchange, kBothWays)                                 \
  X(Sendrecv_replace, sendrecv_replace, 9, "Bkydgshmu", kExchange, kBothWays)                     \
  X(Send_init, send_init, 7, "bctdgmr", kSetup, kOneWay)                                          \
  X(Bsend_init, bsend_init, 7, "bctdgmr", kSetup, kOneWay)                                        \
  X(Ssend_init, ssend_init, 7, "bctdgmr", kSetup, kOneWay)                                        \
  X(Rsend_init, rsend_init, 7, "bctdgmr", kSetup, kOneWay)                                        \
  X(Recv_init, recv_init, 7, "Bkyshmr", kSetup, kOneWay)                                          \
  X(Mrecv, mrecv, 5, "Bky.u", kReceive, kOneWay)                                                  \
  X(Imrecv, imrecv, 5, "Bky.r", kReceive, kOneWay)                                                \
  X(Bcast, bcast, 5, "Bkyom", kCollective, kBroadcast)                                            \
  X(Reduce, reduce, 7, "bBct.om", kCollective, kReduce)                                           \
  X(Allreduce, allreduce, 6, "bBct.m", kCollective, kReduceAll)                                   \
  X(Scan, scan, 6, "bBct.m", kCollective, kReduceAll)                                             \
  X(Exscan, exscan, 6, "bBct.m", kCollective, kReduceAll)                                         \
  X(Reduce_scatter, reduce_scatter, 6, "bBct.m", kCollective, kReduceScatter)                     \
  X(Reduce_scatter_block, reduce_scatter_block, 6, "bBct.m", kCollective, kReduceScatterBlock)    \
  X(Gather, gather, 8, "bctBkyom", kCollective, kGather)                                          \
  X(Gatherv, gatherv, 9, "bctBk.yom", kCollective, kGatherv)                                      \
  X(Scatter, scatter, 8, "bctBkyom", kCollective, kScatter)                                       \
  X(Scatterv, scatterv, 9, "bc.tBkyom", kCollective, kScatterv)                                   \
  X(Allgather, allgather, 7, "bctBkym", kCollective, kGatherAll)                                  \
  X(Allgatherv, allgatherv, 8, "bctBk.ym", kCollective, kGatherAllv)                              \
  X(Alltoall, alltoall, 7, "bctBkym", kCollective, kAllToAll)                                     \
  X(Alltoallv, alltoallv, 9, "bc.tBk.ym", kCollective, kAllToAllv)                                \
  X(Alltoallw, alltoallw, 9, "bc.tBk.ym", kCollective, kAllToAllw)                                \
  X(Ibcast, ibcast, 6, "Bkyomr", kCollective, kBroadcast)                                         \
  X(Ireduce, ireduce, 8, "bBct.omr", kCollective, kReduce)                                        \
  X(Iallreduce, iallreduce, 7, "bBct.mr", kCollective, kReduceAll)                                \
  X(Iscan, iscan, 7, "bBct.mr", kCollective, kReduceAll)                                          \
  X(Iexscan, iexscan, 7, "bBct.mr", kCollective, kReduceAll)                                      \
  X(Ireduce_scatter, ireduce_scatter, 7, "bBct.mr", kCollective, kReduceScatter)                  \
  X(Ireduce_scatter_block, ireduce_scatter_block, 7, "bBct.mr", kCollective, kReduceScatterBlock) \
  X(Igather, igather, 9, "bctBkyomr", kCollective, kGather)                                       \
  X(Igatherv, igatherv, 10, "bctBk.yomr", kCollective, kGatherv)                                  \
  X(Iscatter, iscatter, 9, "bctBkyomr", kCollective, kScatter)                                    \
  X(Iscatterv, iscatterv, 10, "bc.tBkyomr", kCollective, kScatterv)                               \
  X(Iallgather, iallgather, 8, "bctBkymr", kCollective, kGatherAll)                               \
  X(Iallgatherv, iallgatherv, 9, "bctBk.ymr", kCollective, kGatherAllv)                           \
  X(Ialltoall, ialltoall, 8, "bctBkymr", kCollective, kAllToAll)                                  \
  X(Ialltoallv, ialltoallv, 10, "bc.tBk.ymr", kCollective, kAllToAllv)                            \
  X(Ialltoallw, ialltoallw, 10, "bc.tBk.ymr", kCollective, kAllToAllw)                            \
  X(Neighbor_allgather, neighbor_allgather, 7, "......m", kCollective, kNone)                     \
  X(Neighbor_allgatherv, neighbor_allgatherv, 8, ".......m", kCollective, kNone)                  \
  X(Neighbor_alltoall, neighbor_alltoall, 7, "......m", kCollective, kNone)                       \
  X(Neighbor_alltoallv, neighbor_alltoallv, 9, "........m", kCollective, kNone)                   \
  X(Neighbor_alltoallw, neighbor_alltoallw, 9, "........m", kCollective, kNone)                   \
  X(Ineighbor_allgather, ineighbor_allgather, 8, "......mr", kCollective, kNone)                  \
  X(Ineighbor_allgatherv, ineighbor_allgatherv, 9, ".......mr", kCollective, kNone)               \
  X(Ineighbor_alltoall, ineighbor_alltoall, 8, "......mr", kCollective, kNone)                    \
  X(Ineighbor_alltoallv, ineighbor_alltoallv, 10, "........mr", kCollective, kNone)               \
  X(Ineighbor_alltoallw, ineighbor_alltoallw, 10, "........mr", kCollective, kNone)

// Those without counts. A request function without its `f` set, or `i` or `x` without any, has
// completed nothing and is not recorded: programs poll with them.
#define TS_MPI_OTHERS(X)                                                                     \
  X(Barrier, barrier, 1, "m", kCollective, kNone)                                            \
  X(Ibarrier, ibarrier, 2, "mr", kCollective, kNone)                                         \
  X(Wait, wait, 2, "qu", kCompletion, kNone)                                                 \
  X(Waitany, waitany, 4, "nQiu", kCompletion, kNone)                                         \
  X(Waitall, waitall, 3, "nQU", kCompletion, kNone)                                          \
  X(Waitsome, waitsome, 5, "nQxXU", kCompletion, kNone)                                      \
  X(Test, test, 3, "qfu", kCompletion, kNone)                                                \
  X(Testany, testany, 5, "nQifu", kCompletion, kNone)                                        \
  X(Testall, testall, 4, "nQfU", kCompletion, kNone)                                         \
  X(Testsome, testsome, 5, "nQxXU", kCompletion, kNone)                                      \
  X(Start, start, 1, "q", kOther, kNone)                                                     \
  X(Startall, startall, 2, "nQ", kOther, kNone)                                              \
  X(Cancel, cancel, 1, "q", kOther, kNone)                                                   \
  X(Request_free, request_free, 1, "q", kOther, kNone)                                       \
  X(Probe, probe, 4, "shmu", kProbe, kNone)                                                  \
  X(Iprobe, iprobe, 5, "shmfu", kProbe, kNone)                                               \
  X(Mprobe, mprobe, 5, "shm.u", kProbe, kNone)                                               \
  X(Improbe, improbe, 6, "shmf.u", kProbe, kNone)                                            \
  X(Comm_dup, comm_dup, 2, "mM", kSetup, kNone)                                              \
  X(Comm_dup_with_info, comm_dup_with_info, 3, "m.M", kSetup, kNone)                         \
  X(Comm_idup, comm_idup, 3, "m.r", kSetup, kNone)                                           \
  X(Comm_create, comm_create, 3, "m.M", kSetup, kNone)                                       \
  X(Comm_create_group, comm_create_group, 4, "m..M", kSetup, kNone)                          \
  X(Comm_split, comm_split, 4, "m..M", kSetup, kNone)                                        \
  X(Comm_split_type, comm_split_type, 5, "m...M", kSetup, kNone)                             \
  X(Comm_free, comm_free, 1, "M", kSetup, kNone)                                             \
  X(Comm_disconnect, comm_disconnect, 1, "M", kSetup, kNone)                                 \
  X(Comm_set_name, comm_set_name, 2, "m.", kSetup, kNone)                                    \
  X(Comm_spawn, comm_spawn, 8,                                                               \
    "....om"                                                                                 \
    "M.",                                                                                    \
    kSetup, kNone)                                                                           \
  X(Comm_spawn_multiple, comm_spawn_multiple, 9,                                             \
    ".....om"                                                                                \
    "M.",                                                                                    \
    kSetup, kNone)                                                                           \
  X(Comm_accept, comm_accept, 5, "..omM", kSetup, kNone)                                     \
  X(Comm_connect, comm_connect, 5, "..omM", kSetup, kNone)                                   \
  X(Comm_join, comm_join, 2, ".M", kSetup, kNone)                                            \
  X(Comm_get_parent, comm_get_parent, 1, "M", kSetup, kNone)                                 \
  X(Intercomm_create, intercomm_create, 6, "m....M", kSetup, kNone)                          \
  X(Intercomm_merge, intercomm_merge, 3, "m.M", kSetup, kNone)                               \
  X(Cart_create, cart_create, 6, "m....M", kSetup, kNone)                                    \
  X(Cart_sub, cart_sub, 3, "m.M", kSetup, kNone)                                             \
  X(Graph_create, graph_create, 6, "m....M", kSetup, kNone)                                  \
  X(Dist_graph_create, dist_graph_create, 9, "m.......M", kSetup, kNone)                     \
  X(Dist_graph_create_adjacent, dist_graph_create_adjacent, 10, "m........M", kSetup, kNone) \
  X(Finalize, finalize, 0, "", kSetup, kNone)                                                \
  X(Abort, abort, 2, "m.", kSetup, kNone)

#define TS_MPI_START(X) X(Init, init, 2, "..", kSetup, kNone)
#define TS_MPI_START_THREAD(X) X(Init_thread, init_thread, 4, "....", kSetup, kNone)

/// The functions in the order of their numbers. Messages of MPI 4 have a variant with counts of 64
/// bits, MPI_Send_c and so on.
enum class MpiApi : uint32_t {
#define TS_X(name, ...) k##name, k##name##_c,
  TS_MPI_MESSAGES(TS_X)
#undef TS_X
#define TS_X(name, ...) k##name,
      TS_MPI_OTHERS(TS_X) TS_MPI_START(TS_X) TS_MPI_START_THREAD(TS_X)
#undef TS_X
          kCount
};

struct MpiFunction {
  const char* name;
  const char* roles;
  CommKind kind;
  MpiVolume volume;
  bool has_large_counts;
};

inline constexpr MpiFunction kMpiApi[] = {
#define TS_X(name, fortran, arguments, roles, kind, volume)        \
  {"MPI_" #name, roles, CommKind::kind, MpiVolume::volume, false}, \
      {"MPI_" #name "_c", roles, CommKind::kind, MpiVolume::volume, true},
    TS_MPI_MESSAGES(TS_X)
#undef TS_X
#define TS_X(name, fortran, arguments, roles, kind, volume) \
  {"MPI_" #name, roles, CommKind::kind, MpiVolume::volume, false},
        TS_MPI_OTHERS(TS_X) TS_MPI_START(TS_X) TS_MPI_START_THREAD(TS_X)
#undef TS_X
};
static_assert(sizeof kMpiApi / sizeof *kMpiApi == static_cast<size_t>(MpiApi::kCount));

#define TS_X(name, fortran, arguments, roles, kind, volume) \
  static_assert(sizeof roles - 1 == arguments, "a role for each argument of " #name);
TS_MPI_MESSAGES(TS_X)
TS_MPI_OTHERS(TS_X)
#undef TS_X

}  // namespace tracesmith
