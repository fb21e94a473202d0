/* SPDX-License-Identifier: Apache-2.0
 * TraceSmith for C, and for whatever calls C: libtracesmith.so, pkg-config tracesmith.
 *
 *   tracesmith_trace* trace;
 *   if (tracesmith_open("run.sbt", &trace) != TRACESMITH_OK) {
 *     fprintf(stderr, "%s\n", tracesmith_last_error());
 *   }
 *
 * Within one number of TRACESMITH_ABI nothing is removed and no meaning changes. Structs grow at
 * their end alone: who calls sets `struct_size` (TRACESMITH_INIT does), and the library reads and
 * writes no more than that. Members that are 0 ask for the default.
 *
 * Texts that go in end with 0; texts of a trace that come out are UTF-8 (bytes that are not become
 * U+FFFD), paths are as the system has them. Times are ns. No function throws or ends
 * the process; where memory runs out it says TRACESMITH_NO_SPACE. NULL for a handle is
 * TRACESMITH_INVALID_ARGUMENT; to close or free it does nothing.
 *
 * Threads: a trace and a session may be shared, as each function says; other handles belong to one
 * thread at a time. */
#ifndef TRACESMITH_C_API_H
#define TRACESMITH_C_API_H

#include <stddef.h>
#include <stdint.h>

#define TRACESMITH_ABI 1

#if defined(__GNUC__)
#define TRACESMITH_API __attribute__((visibility("default")))
#else
#define TRACESMITH_API
#endif

#ifdef __cplusplus
extern "C" {
#define TRACESMITH_INIT(type)                    \
  ([] {                                          \
    type tracesmith_value = type();              \
    tracesmith_value.struct_size = sizeof(type); \
    return tracesmith_value;                     \
  }())
#else
#define TRACESMITH_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

/* ---- errors ---- */

typedef int32_t tracesmith_status;
enum {
  TRACESMITH_OK = 0,
  TRACESMITH_INVALID_ARGUMENT = 1, /* what was asked for makes no sense */
  TRACESMITH_NOT_FOUND = 2,        /* a file, name or library is missing */
  TRACESMITH_PERMISSION = 3,       /* the system refused */
  TRACESMITH_NO_SPACE = 4,         /* a disk, memory or quota is full */
  TRACESMITH_IO = 5,               /* the system failed to read or write */
  TRACESMITH_NOT_A_TRACE = 6,      /* these bytes are no trace */
  TRACESMITH_TOO_NEW = 7,          /* written by a newer major version */
  TRACESMITH_DAMAGED = 8,          /* a trace, but broken */
  TRACESMITH_UNSUPPORTED = 9,      /* not possible with this build or on this machine */
  TRACESMITH_INTERNAL = 10,        /* a defect of TraceSmith */
  TRACESMITH_INTERRUPTED = 11      /* by tracesmith_interrupt() */
};

/* What went wrong in this thread's last call that did not say TRACESMITH_OK, for people: where,
 * what and what to do. Valid until the thread's next call that fails. "": none has. */
TRACESMITH_API const char* tracesmith_last_error(void);

/* TRACESMITH_ABI of the library, which may be newer than the header's. */
TRACESMITH_API uint32_t tracesmith_abi(void);
/* "1.0.0" */
TRACESMITH_API const char* tracesmith_version(void);

/* Frees a text that a function gave to its caller. */
TRACESMITH_API void tracesmith_string_free(char* text);

/* ---- reading: any thread, one at a time in a trace; the others wait ---- */

typedef struct tracesmith_trace tracesmith_trace;

/* Opens a trace: .sbt, or another tool's (docs/importing.md). Events are read when they are asked
 * for. */
TRACESMITH_API tracesmith_status tracesmith_open(const char* path, tracesmith_trace** trace);
/* No thread may be in a call for it. Columns and streams that were handed out stay valid. */
TRACESMITH_API void tracesmith_close(tracesmith_trace* trace);

typedef struct tracesmith_trace_info {
  uint32_t struct_size;
  uint32_t complete;   /* 0: it was cut off, or is still being written */
  uint64_t file_bytes; /* of the source where it was another tool's */
  uint64_t cut_bytes;  /* at the end, of what was not written whole */
  uint64_t damaged;    /* stretches that could not be read, as far as they were met by now */
} tracesmith_trace_info;
TRACESMITH_API tracesmith_status tracesmith_trace_get_info(tracesmith_trace* trace,
                                                           tracesmith_trace_info* info);

typedef struct tracesmith_table_info {
  uint32_t struct_size;
  uint32_t columns;
  const char* name; /* as in SQL; this and what follows lives as long as the trace */
  const char* meaning;
} tracesmith_table_info;
TRACESMITH_API size_t tracesmith_table_count(tracesmith_trace* trace);
/* NOT_FOUND: there are not so many. */
TRACESMITH_API tracesmith_status tracesmith_table_at(tracesmith_trace* trace, size_t index,
                                                     tracesmith_table_info* info);

typedef struct tracesmith_column_info {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* type; /* "INTEGER", "REAL" or "TEXT" */
  const char* meaning;
} tracesmith_column_info;
TRACESMITH_API tracesmith_status tracesmith_column_at(tracesmith_trace* trace, const char* table,
                                                      size_t index, tracesmith_column_info* info);

TRACESMITH_API tracesmith_status tracesmith_row_count(tracesmith_trace* trace, const char* table,
                                                      uint64_t* rows);
/* Reads these columns in one pass over the file, before they are asked for one by one. */
TRACESMITH_API tracesmith_status tracesmith_load(tracesmith_trace* trace, const char* table,
                                                 const char* const* columns, size_t count);

typedef struct tracesmith_column tracesmith_column;

enum {
  TRACESMITH_UINT32 = 1,
  TRACESMITH_INT64 = 2,
  TRACESMITH_UINT64 = 3,
  TRACESMITH_DOUBLE = 4,
  TRACESMITH_TEXT = 5 /* int32: the number of a text, from 0 on; -1: none */
};

typedef struct tracesmith_column_view {
  uint32_t struct_size;
  uint32_t type; /* of `values` */
  uint64_t rows;
  const void* values; /* `rows` of them; numbers that the trace has lie there as it has them */
  /* A bit per row, the lowest first: 0 means that the row has no value, whatever `values` has.
   * NULL: all have one. */
  const uint8_t* valid;
  uint64_t nulls;
  /* Of TRACESMITH_TEXT: text i is the bytes [text_begins[i], text_begins[i + 1]) of `texts`, each
   * once, in the order of their bytes. They do not end with 0. */
  const char* texts;
  const int64_t* text_begins; /* text_count + 1 */
  uint64_t text_count;
} tracesmith_column_view;

/* NOT_FOUND: there is no such table or column. NO_SPACE: there is no room for it in memory. */
TRACESMITH_API tracesmith_status tracesmith_column_read(tracesmith_trace* trace, const char* table,
                                                        const char* name,
                                                        tracesmith_column** column);
/* What `view` points to lives as long as the column, also after the trace was closed. */
TRACESMITH_API tracesmith_status tracesmith_column_get(const tracesmith_column* column,
                                                       tracesmith_column_view* view);
TRACESMITH_API void tracesmith_column_free(tracesmith_column* column);

/* Arrow's C stream interface; its header, or any library of Arrow, has the struct:
 * https://arrow.apache.org/docs/format/CStreamInterface.html
 * The stream keeps what it needs, and is released by who took it. */
struct ArrowArrayStream;
/* Columns of a table as one batch: uint32, int64, uint64, float64, and texts as
 * dictionary<int32, large_utf8>. */
TRACESMITH_API tracesmith_status tracesmith_arrow(tracesmith_trace* trace, const char* table,
                                                  const char* const* columns, size_t count,
                                                  struct ArrowArrayStream* stream);
/* One SELECT of SQLite over the tables (docs/query.md), as batches of int64, float64 and utf8.
 * INVALID_ARGUMENT: a mistake in it; PERMISSION: it would do more than read the trace. */
TRACESMITH_API tracesmith_status tracesmith_query(tracesmith_trace* trace, const char* sql,
                                                  struct ArrowArrayStream* stream);
/* Ends, from another thread or a signal handler, what the trace was asked until now: queries at
 * once, reads, analyses and exports at their next block or part, with TRACESMITH_INTERRUPTED;
 * streams that are still read with ECANCELED. What is nearly done may yet succeed. */
TRACESMITH_API void tracesmith_interrupt(tracesmith_trace* trace);

/* What `tracesmith analyze --json` says (docs/analysis.md), to be freed by
 * tracesmith_string_free(). `parts`: their names there ("gpu-util", "idle", ...); count 0: all.
 * `limit`: rows of tables by name; 0: all. */
TRACESMITH_API tracesmith_status tracesmith_analyze(tracesmith_trace* trace,
                                                    const char* const* parts, size_t count,
                                                    uint64_t limit, char** json);

/* Writes a file for other tools: Chrome's JSON where `path` ends in .json, else Perfetto's
 * protobuf. A file that is there is replaced when the new one is whole. Stacks are without the
 * frames of the interpreter, libffi and the loader (docs/stacks.md); the second has them. */
TRACESMITH_API tracesmith_status tracesmith_export(tracesmith_trace* trace, const char* path);
TRACESMITH_API tracesmith_status tracesmith_export_all_frames(tracesmith_trace* trace,
                                                              const char* path);

/* ---- recording oneself ---- */

typedef struct tracesmith_session tracesmith_session;

enum {
  TRACESMITH_BLOCK = 0, /* who emits waits for room */
  TRACESMITH_DROP_NEWEST = 1,
  TRACESMITH_DROP_OLDEST = 2
};

typedef struct tracesmith_session_options {
  uint32_t struct_size;
  uint32_t overflow;          /* of a full ring; what is dropped is counted */
  const char* output_file;    /* NULL: the trace is kept in memory */
  uint64_t buffer_kib;        /* ring of each thread (1024): 4 to 262144 */
  uint32_t max_threads;       /* at once, those of forked children among them (1024) */
  uint32_t flush_interval_ms; /* at most this much is lost with the process (200) */
  uint64_t duration_ms;       /* stop by itself after so long; 0: never */
} tracesmith_session_options;

/* Starts to record; `options` may be NULL. Its children, forked, record into it as well. */
TRACESMITH_API tracesmith_status tracesmith_session_start(const tracesmith_session_options* options,
                                                          tracesmith_session** session);
/* Everything that was emitted before is in the trace when it returns. The second time it does
 * nothing. Any thread, as with the two below: they wait for each other. */
TRACESMITH_API tracesmith_status tracesmith_session_stop(tracesmith_session* session);
TRACESMITH_API tracesmith_status tracesmith_session_flush(tracesmith_session* session);
/* Stops. No thread may use it meanwhile. */
TRACESMITH_API void tracesmith_session_free(tracesmith_session* session);
/* Of the trace, which tracesmith_open() reads, also while the session runs. In memory: as long as
 * the session is there. The pointer is good until the session is started or stopped. */
TRACESMITH_API const char* tracesmith_session_path(const tracesmith_session* session);
/* Writes what was recorded so far; .sbt, .json, else Perfetto's. */
TRACESMITH_API tracesmith_status tracesmith_session_export(tracesmith_session* session,
                                                           const char* path);

typedef struct tracesmith_session_info {
  uint32_t struct_size;
  uint32_t running;
  uint64_t events;   /* that were handed in, counters not among them */
  uint64_t counters; /* that were handed in */
  uint64_t dropped;  /* of both */
} tracesmith_session_info;
TRACESMITH_API tracesmith_status tracesmith_session_get_info(const tracesmith_session* session,
                                                             tracesmith_session_info* info);

/* The number of a name, of spans, markers and allocators; of a counter and its unit (may be NULL).
 * Any thread. 0, with which nothing is recorded: it does not run. After 16 MiB of names all new
 * ones are TRACESMITH_NO_ROOM_FOR_NAME, which is called "(no room for more names)". */
#define TRACESMITH_NO_ROOM_FOR_NAME 1
TRACESMITH_API uint32_t tracesmith_session_intern(tracesmith_session* session, const char* text,
                                                  size_t bytes);
TRACESMITH_API uint32_t tracesmith_session_counter_track(tracesmith_session* session,
                                                         const char* name, const char* unit);

/* Any thread, and children; after a thread's first one they take no lock and no memory. 0: it was
 * dropped, which is counted, or the session does not run. */

/* A time for spans, in a unit of the session's own; 0: there can be none, nor a span with it. */
TRACESMITH_API int64_t tracesmith_session_stamp(tracesmith_session* session);
TRACESMITH_API int tracesmith_session_span(tracesmith_session* session, uint32_t name,
                                           int64_t begin, int64_t end);
TRACESMITH_API int tracesmith_session_marker(tracesmith_session* session, uint32_t name);
TRACESMITH_API int tracesmith_session_counter(tracesmith_session* session, uint32_t track,
                                              double value);
/* An allocation, or its release, by the allocator `name`. */
TRACESMITH_API int tracesmith_session_memory(tracesmith_session* session, uint32_t name,
                                             uint64_t address, uint64_t bytes, int is_allocation);

/* ---- replaying ---- */

enum { /* modes */
       TRACESMITH_REPLAY_FULL = 0,
       TRACESMITH_REPLAY_PARTIAL = 1, /* what start_... and end_... choose, and what that needs */
       TRACESMITH_REPLAY_DRY_RUN = 2, /* what would be executed is found, ordered and checked */
       TRACESMITH_REPLAY_STREAM = 3   /* what stream_id chooses, and what that needs */
};
enum { /* schedulings */
       TRACESMITH_ORIGINAL_TIMING = 0,
       TRACESMITH_ROUND_ROBIN = 1,
       TRACESMITH_PRIORITY = 2
};
enum { /* flags: which members are meant, and what is compared */
       TRACESMITH_REPLAY_START_TIME = 1,
       TRACESMITH_REPLAY_END_TIME = 2,
       TRACESMITH_REPLAY_START_OPERATION = 4,
       TRACESMITH_REPLAY_END_OPERATION = 8,
       TRACESMITH_REPLAY_CHECKSUMS =
           16 /* what each launch leaves, with recordings that have that */
};

typedef struct tracesmith_replay_options {
  uint32_t struct_size;
  uint32_t mode;
  uint32_t scheduling;
  uint32_t flags;
  uint64_t start_time; /* ns since the first recorded call */
  uint64_t end_time;
  uint64_t start_operation;
  uint64_t end_operation;
  uint32_t stream_id;
  uint32_t reserved;
  double time_scale;   /* 0: as fast as the device goes; 1: at the recorded times */
  double step_limit_s; /* of one command (60) */
  /* Number or part of the name; NULL: the recorded one, else any, else none. "simulated": none. */
  const char* device;
} tracesmith_replay_options;

typedef struct tracesmith_replay_result tracesmith_replay_result;

/* Replays a recording (.sbr), a trace with the recording beside it, or, on a virtual clock, another
 * trace (docs/replay.md). It forks where it executes: call it from a process that has loaded no
 * driver. What went wrong with the replay is in the result; other errors are that nothing could be
 * loaded. `options` may be NULL. */
TRACESMITH_API tracesmith_status tracesmith_replay(const char* path,
                                                   const tracesmith_replay_options* options,
                                                   tracesmith_replay_result** result);

typedef struct tracesmith_replay_info {
  uint32_t struct_size;
  uint32_t success;       /* what was asked for was done, and there are no errors */
  uint32_t deterministic; /* executed, and all that was read back was equal */
  uint32_t simulated;     /* nothing was executed: times are virtual */
  uint64_t total;         /* operations: each is one of the next three */
  uint64_t executed;
  uint64_t simulated_operations;
  uint64_t skipped;
  uint64_t failed;
  uint64_t duration_ns;
  uint64_t original_duration_ns;
  uint64_t read_backs; /* compared with the recording */
  uint64_t read_backs_equal;
  uint64_t launches_hashed; /* of TRACESMITH_REPLAY_CHECKSUMS */
  uint64_t launches_equal;
  uint64_t errors;
  const char* device;  /* that executed; ""; lives, as `summary`, as long as the result */
  const char* summary; /* a few lines for people */
} tracesmith_replay_info;
TRACESMITH_API tracesmith_status tracesmith_replay_get_info(const tracesmith_replay_result* result,
                                                            tracesmith_replay_info* info);
/* NULL: there are not so many. Lives as long as the result. */
TRACESMITH_API const char* tracesmith_replay_error(const tracesmith_replay_result* result,
                                                   size_t index);
TRACESMITH_API void tracesmith_replay_free(tracesmith_replay_result* result);

/* ---- former names: programs that were compiled or written with them go on working ---- */

typedef tracesmith_trace_info tracesmith_trace_facts;
typedef tracesmith_table_info tracesmith_table_facts;
typedef tracesmith_column_info tracesmith_column_facts;
typedef tracesmith_session_info tracesmith_session_facts;
typedef tracesmith_replay_info tracesmith_replay_facts;
/* tracesmith_string_free() */
TRACESMITH_API void tracesmith_text_free(char* text);
/* tracesmith_trace_get_info() */
TRACESMITH_API tracesmith_status tracesmith_trace_get_facts(tracesmith_trace* trace,
                                                            tracesmith_trace_info* info);
/* tracesmith_session_get_info() */
TRACESMITH_API tracesmith_status tracesmith_session_get_facts(const tracesmith_session* session,
                                                              tracesmith_session_info* info);
/* tracesmith_session_intern() */
TRACESMITH_API uint32_t tracesmith_session_name(tracesmith_session* session, const char* text,
                                                size_t bytes);
/* tracesmith_replay_get_info() */
TRACESMITH_API tracesmith_status tracesmith_replay_get_facts(const tracesmith_replay_result* result,
                                                             tracesmith_replay_info* info);

#ifdef __cplusplus
}
#endif

#endif
