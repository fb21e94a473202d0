/* SPDX-License-Identifier: Apache-2.0
 * The tracepoints of bench/lttng.sh: the two ends of a span. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tracesmith_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_peer.h"
#if !defined(TRACESMITH_LTTNG_PEER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRACESMITH_LTTNG_PEER_H
#include <lttng/tracepoint.h>
#include <stdint.h>
LTTNG_UST_TRACEPOINT_EVENT(tracesmith_peer, begin, LTTNG_UST_TP_ARGS(uint64_t, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(tracesmith_peer, end, LTTNG_UST_TP_ARGS(uint64_t, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, name, name)))
#endif
#include <lttng/tracepoint-event.h>
