/* SPDX-License-Identifier: Apache-2.0
 * Prints sizes of structs, places of their members and values of constants: what programs that were
 * compiled with this header have in them. abi_1.txt is what it prints for all time. */
#include <stddef.h>
#include <stdio.h>
#include <tracesmith/tracesmith.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define MEMBER(type, member) printf(#type "." #member " %zu\n", offsetof(type, member))
#define CONSTANT(name) printf(#name " %d\n", (int)name)

int main(void) {
  SIZE(tracesmith_trace_facts);
  MEMBER(tracesmith_trace_facts, struct_size);
  MEMBER(tracesmith_trace_facts, complete);
  MEMBER(tracesmith_trace_facts, file_bytes);
  MEMBER(tracesmith_trace_facts, cut_bytes);
  MEMBER(tracesmith_trace_facts, damaged);
  SIZE(tracesmith_table_facts);
  MEMBER(tracesmith_table_facts, struct_size);
  MEMBER(tracesmith_table_facts, columns);
  MEMBER(tracesmith_table_facts, name);
  MEMBER(tracesmith_table_facts, meaning);
  SIZE(tracesmith_column_facts);
  MEMBER(tracesmith_column_facts, struct_size);
  MEMBER(tracesmith_column_facts, reserved);
  MEMBER(tracesmith_column_facts, name);
  MEMBER(tracesmith_column_facts, type);
  MEMBER(tracesmith_column_facts, meaning);
  SIZE(tracesmith_column_view);
  MEMBER(tracesmith_column_view, struct_size);
  MEMBER(tracesmith_column_view, type);
  MEMBER(tracesmith_column_view, rows);
  MEMBER(tracesmith_column_view, values);
  MEMBER(tracesmith_column_view, valid);
  MEMBER(tracesmith_column_view, nulls);
  MEMBER(tracesmith_column_view, texts);
  MEMBER(tracesmith_column_view, text_begins);
  MEMBER(tracesmith_column_view, text_count);
  SIZE(tracesmith_session_options);
  MEMBER(tracesmith_session_options, struct_size);
  MEMBER(tracesmith_session_options, overflow);
  MEMBER(tracesmith_session_options, output_file);
  MEMBER(tracesmith_session_options, buffer_kib);
  MEMBER(tracesmith_session_options, max_threads);
  MEMBER(tracesmith_session_options, flush_interval_ms);
  MEMBER(tracesmith_session_options, duration_ms);
  SIZE(tracesmith_session_facts);
  MEMBER(tracesmith_session_facts, struct_size);
  MEMBER(tracesmith_session_facts, running);
  MEMBER(tracesmith_session_facts, events);
  MEMBER(tracesmith_session_facts, counters);
  MEMBER(tracesmith_session_facts, dropped);
  SIZE(tracesmith_replay_options);
  MEMBER(tracesmith_replay_options, struct_size);
  MEMBER(tracesmith_replay_options, mode);
  MEMBER(tracesmith_replay_options, scheduling);
  MEMBER(tracesmith_replay_options, flags);
  MEMBER(tracesmith_replay_options, start_time);
  MEMBER(tracesmith_replay_options, end_time);
  MEMBER(tracesmith_replay_options, start_operation);
  MEMBER(tracesmith_replay_options, end_operation);
  MEMBER(tracesmith_replay_options, stream_id);
  MEMBER(tracesmith_replay_options, reserved);
  MEMBER(tracesmith_replay_options, time_scale);
  MEMBER(tracesmith_replay_options, step_limit_s);
  MEMBER(tracesmith_replay_options, device);
  SIZE(tracesmith_replay_facts);
  MEMBER(tracesmith_replay_facts, struct_size);
  MEMBER(tracesmith_replay_facts, success);
  MEMBER(tracesmith_replay_facts, deterministic);
  MEMBER(tracesmith_replay_facts, simulated);
  MEMBER(tracesmith_replay_facts, total);
  MEMBER(tracesmith_replay_facts, executed);
  MEMBER(tracesmith_replay_facts, simulated_operations);
  MEMBER(tracesmith_replay_facts, skipped);
  MEMBER(tracesmith_replay_facts, failed);
  MEMBER(tracesmith_replay_facts, duration_ns);
  MEMBER(tracesmith_replay_facts, original_duration_ns);
  MEMBER(tracesmith_replay_facts, read_backs);
  MEMBER(tracesmith_replay_facts, read_backs_equal);
  MEMBER(tracesmith_replay_facts, launches_hashed);
  MEMBER(tracesmith_replay_facts, launches_equal);
  MEMBER(tracesmith_replay_facts, errors);
  MEMBER(tracesmith_replay_facts, device);
  MEMBER(tracesmith_replay_facts, summary);
  CONSTANT(TRACESMITH_OK);
  CONSTANT(TRACESMITH_INVALID_ARGUMENT);
  CONSTANT(TRACESMITH_NOT_FOUND);
  CONSTANT(TRACESMITH_PERMISSION);
  CONSTANT(TRACESMITH_NO_SPACE);
  CONSTANT(TRACESMITH_IO);
  CONSTANT(TRACESMITH_NOT_A_TRACE);
  CONSTANT(TRACESMITH_TOO_NEW);
  CONSTANT(TRACESMITH_DAMAGED);
  CONSTANT(TRACESMITH_UNSUPPORTED);
  CONSTANT(TRACESMITH_INTERNAL);
  CONSTANT(TRACESMITH_INTERRUPTED);
  CONSTANT(TRACESMITH_UINT32);
  CONSTANT(TRACESMITH_INT64);
  CONSTANT(TRACESMITH_UINT64);
  CONSTANT(TRACESMITH_DOUBLE);
  CONSTANT(TRACESMITH_TEXT);
  CONSTANT(TRACESMITH_BLOCK);
  CONSTANT(TRACESMITH_DROP_NEWEST);
  CONSTANT(TRACESMITH_DROP_OLDEST);
  CONSTANT(TRACESMITH_REPLAY_FULL);
  CONSTANT(TRACESMITH_REPLAY_PARTIAL);
  CONSTANT(TRACESMITH_REPLAY_DRY_RUN);
  CONSTANT(TRACESMITH_REPLAY_STREAM);
  CONSTANT(TRACESMITH_ORIGINAL_TIMING);
  CONSTANT(TRACESMITH_ROUND_ROBIN);
  CONSTANT(TRACESMITH_PRIORITY);
  CONSTANT(TRACESMITH_REPLAY_START_TIME);
  CONSTANT(TRACESMITH_REPLAY_END_TIME);
  CONSTANT(TRACESMITH_REPLAY_START_OPERATION);
  CONSTANT(TRACESMITH_REPLAY_END_OPERATION);
  CONSTANT(TRACESMITH_NO_ROOM_FOR_NAME);
  return 0;
}
