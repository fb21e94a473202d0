/* SPDX-License-Identifier: Apache-2.0
 * Records spans and reads them back by columns, as a program in C does it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tracesmith/tracesmith.h>

static int say(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tracesmith_last_error());
  return 1;
}

int main(void) {
  tracesmith_session_options options = TRACESMITH_INIT(tracesmith_session_options);
  options.overflow = TRACESMITH_BLOCK;
  tracesmith_session* session = NULL;
  if (tracesmith_session_start(&options, &session) != TRACESMITH_OK) return say("start");
  const uint32_t name = tracesmith_session_intern(session, "work", strlen("work"));
  for (int i = 0; i < 10; ++i) {
    const int64_t begin = tracesmith_session_stamp(session);
    if (!tracesmith_session_span(session, name, begin, tracesmith_session_stamp(session))) {
      return say("span");
    }
  }
  if (tracesmith_session_stop(session) != TRACESMITH_OK) return say("stop");

  tracesmith_trace* trace = NULL;
  if (tracesmith_open(tracesmith_session_path(session), &trace) != TRACESMITH_OK)
    return say("open");
  tracesmith_column* column = NULL;
  if (tracesmith_column_read(trace, "range", "start_ns", &column) != TRACESMITH_OK) {
    return say("column");
  }
  tracesmith_column_view view = TRACESMITH_INIT(tracesmith_column_view);
  if (tracesmith_column_get(column, &view) != TRACESMITH_OK) return say("view");
  if (view.rows != 10 || view.type != TRACESMITH_INT64) return say("rows");
  const int64_t* const starts = view.values;
  for (uint64_t i = 1; i < view.rows; ++i) {
    if (starts[i] < starts[i - 1]) return say("order");
  }
  printf("tracesmith %s: %" PRIu64 " spans in %" PRId64 " ns\n", tracesmith_version(), view.rows,
         starts[9] - starts[0]);
  tracesmith_column_free(column);
  tracesmith_close(trace);
  tracesmith_session_free(session);

  tracesmith_replay_result* result = NULL;
  if (tracesmith_replay("not there.sbr", NULL, &result) != TRACESMITH_NOT_FOUND)
    return say("replay");
  return 0;
}
