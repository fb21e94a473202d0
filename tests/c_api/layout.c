/* SPDX-License-Identifier: Apache-2.0
 * Prints sizes of structs and places of members, for bindings to compare theirs with. */
#include <stdio.h>
#include <tracesmith/tracesmith.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define MEMBER(type, member) printf(#type "." #member " %zu\n", offsetof(type, member))

int main(void) {
  SIZE(tracesmith_trace_facts);
  MEMBER(tracesmith_trace_facts, damaged);
  SIZE(tracesmith_table_facts);
  MEMBER(tracesmith_table_facts, meaning);
  SIZE(tracesmith_column_facts);
  MEMBER(tracesmith_column_facts, meaning);
  SIZE(tracesmith_column_view);
  MEMBER(tracesmith_column_view, valid);
  MEMBER(tracesmith_column_view, text_count);
  SIZE(tracesmith_session_options);
  MEMBER(tracesmith_session_options, max_threads);
  MEMBER(tracesmith_session_options, duration_ms);
  SIZE(tracesmith_session_facts);
  MEMBER(tracesmith_session_facts, dropped);
  SIZE(tracesmith_replay_options);
  MEMBER(tracesmith_replay_options, stream_id);
  MEMBER(tracesmith_replay_options, device);
  SIZE(tracesmith_replay_facts);
  MEMBER(tracesmith_replay_facts, errors);
  MEMBER(tracesmith_replay_facts, summary);
  return 0;
}
