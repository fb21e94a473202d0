/* SPDX-License-Identifier: Apache-2.0
 * The C API of TraceSmith, also for languages that call C. Library: libtracesmith.so; pkg-config:
 * tracesmith.
 *
 *   tracesmith_trace* trace;
 *   if (tracesmith_open("run.sbt", &trace) != TRACESMITH_OK) {
 *     fprintf(stderr, "%s\n", tracesmith_last_error());
 *   }
 *
 * Compatibility: as long as TRACESMITH_ABI stays the same, nothing is removed and no meaning
 * changes. Structs grow only at their end. The caller sets `struct_size` (TRACESMITH_INIT does),
 * and the library reads and writes no more than that. Members that are 0 select the default.
 *
 * Strings passed in end with 0. Strings from a trace are UTF-8; invalid bytes become U+FFFD. Paths
 * are in the system's encoding. Times are in ns.
 *
 * Errors: no function throws or ends the process. When memory runs out, functions return
 * TRACESMITH_NO_SPACE. A NULL handle is TRACESMITH_INVALID_ARGUMENT; closing or freeing NULL does
 * nothing.
 *
 * Threads: traces and sessions may be shared between threads, as each function describes. Other
 * handles belong to one thread at a time. */
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
  TRACESMITH_INVALID_ARGUMENT = 1, /* the request makes no sense */
  TRACESMITH_NOT_FOUND = 2,        /* a file, name or library is missing */
  TRACESMITH_PERMISSION = 3,       /* the system refused */
  TRACESMITH_NO_SPACE = 4,         /* a disk, memory or quota is full */
  TRACESMITH_IO = 5,               /* the system failed to read or write */
  TRACESMITH_NOT_A_TRACE = 6,      /* the bytes are not a trace */
  TRACESMITH_TOO_NEW = 7,          /* written by a newer major version */
  TRACESMITH_DAMAGED = 8,          /* a trace, but broken */
  TRACESMITH_UNSUPPORTED = 9,      /* not possible with this build or on this machine */
  TRACESMITH_INTERNAL = 10,        /* a bug in TraceSmith */
  TRACESMITH_INTERRUPTED = 11      /* stopped by tracesmith_interrupt() */
};

/* The error of this thread's last failed call, for people: where, what happened and what to do.
 * Valid until the thread's next failed call. "" if no call has failed. */
TRACESMITH_API const char* tracesmith_last_error(void);

/* TRACESMITH_ABI of the loaded library, which may be newer than this header. */
TRACESMITH_API uint32_t tracesmith_abi(void);
/* The library's version, such as "1.0.0". */
TRACESMITH_API const char* tracesmith_version(void);

/* Frees a string that a function returned to its caller. */
TRACESMITH_API void tracesmith_string_free(char* text);

/* ---- reading: any thread may call; calls for the same trace wait for each other ---- */

typedef struct tracesmith_trace tracesmith_trace;

/* Opens an .sbt trace or another tool's trace (docs/importing.md). Events are read only when they
 * are needed. */
TRACESMITH_API tracesmith_status tracesmith_open(const char* path, tracesmith_trace** trace);
/* Closes the trace. No thread may be in a call for it. Columns and streams obtained from it stay
 * valid. */
TRACESMITH_API void tracesmith_close(tracesmith_trace* trace);

typedef struct tracesmith_trace_info {
  uint32_t struct_size;
  uint32_t complete;   /* 0: the file is cut off, or is still being written */
  uint64_t file_bytes; /* for another tool's trace, the size of that file */
  uint64_t cut_bytes;  /* bytes at the end that belong to an incomplete block */
  uint64_t damaged;    /* number of damaged ranges found so far */
} tracesmith_trace_info;
TRACESMITH_API tracesmith_status tracesmith_trace_get_info(tracesmith_trace* trace,
                                                           tracesmith_trace_info* info);

typedef struct tracesmith_table_info {
  uint32_t struct_size;
  uint32_t columns;
  const char* name; /* as in SQL; this and the other strings live as long as the trace */
  const char* meaning;
} tracesmith_table_info;
TRACESMITH_API size_t tracesmith_table_count(tracesmith_trace* trace);
/* NOT_FOUND: `index` is too large. */
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
/* Reads these columns in one pass over the file, ahead of separate reads. */
TRACESMITH_API tracesmith_status tracesmith_load(tracesmith_trace* trace, const char* table,
                                                 const char* const* columns, size_t count);

typedef struct tracesmith_column tracesmith_column;

enum {
  TRACESMITH_UINT32 = 1,
  TRACESMITH_INT64 = 2,
  TRACESMITH_UINT64 = 3,
  TRACESMITH_DOUBLE = 4,
  TRACESMITH_TEXT = 5 /* int32: index of a text, from 0; -1: none */
};

typedef struct tracesmith_column_view {
  uint32_t struct_size;
  uint32_t type; /* type of the elements of `values` */
  uint64_t rows;
  const void* values; /* `rows` elements; numbers that the trace has in memory are not copied */
  /* One bit per row, lowest bit first: 0 means that the row has no value, whatever `values`
   * contains. NULL: all rows have a value. */
  const uint8_t* valid;
  uint64_t nulls;
  /* TRACESMITH_TEXT only: text i is the bytes [text_begins[i], text_begins[i + 1]) of `texts`. Each
   * text occurs once; they are sorted by their bytes and do not end with 0. */
  const char* texts;
  const int64_t* text_begins; /* text_count + 1 elements */
  uint64_t text_count;
} tracesmith_column_view;

/* NOT_FOUND: there is no such table or column. NO_SPACE: it does not fit into memory. */
TRACESMITH_API tracesmith_status tracesmith_column_read(tracesmith_trace* trace, const char* table,
                                                        const char* name,
                                                        tracesmith_column** column);
/* The pointers in `view` are valid as long as the column, even after the trace was closed. */
TRACESMITH_API tracesmith_status tracesmith_column_get(const tracesmith_column* column,
                                                       tracesmith_column_view* view);
TRACESMITH_API void tracesmith_column_free(tracesmith_column* column);

/* Arrow's C stream interface. Its header, or any Arrow library, defines the struct:
 * https://arrow.apache.org/docs/format/CStreamInterface.html
 * The caller must release the stream. The stream keeps the data that it needs. */
struct ArrowArrayStream;
/* Exports columns of a table as one batch: uint32, int64, uint64 and float64; text as
 * dictionary<int32, large_utf8>. */
TRACESMITH_API tracesmith_status tracesmith_arrow(tracesmith_trace* trace, const char* table,
                                                  const char* const* columns, size_t count,
                                                  struct ArrowArrayStream* stream);
/* Runs one SELECT in SQLite's language over the tables (docs/query.md). The result comes in batches
 * of int64, float64 and utf8. INVALID_ARGUMENT: wrong SQL. PERMISSION: the statement does more than
 * read the trace. */
TRACESMITH_API tracesmith_status tracesmith_query(tracesmith_trace* trace, const char* sql,
                                                  struct ArrowArrayStream* stream);
/* Interrupts everything the trace is doing, from another thread or a signal handler. Queries stop
 * at once; reads, analyses and exports at their next block or part, with TRACESMITH_INTERRUPTED.
 * Streams that are still being read fail with ECANCELED. Work that is almost done may still
 * succeed. */
TRACESMITH_API void tracesmith_interrupt(tracesmith_trace* trace);

/* The output of `tracesmith analyze --json` (docs/analysis.md); free it with
 * tracesmith_string_free(). `parts`: names of the parts to include ("gpu-util", "idle", ...); count
 * 0: all. `limit`: rows in tables by name; 0: all. A trace of several ranks is refused
 * (TRACESMITH_INVALID_ARGUMENT), because each has its own clock. */
TRACESMITH_API tracesmith_status tracesmith_analyze(tracesmith_trace* trace,
                                                    const char* const* parts, size_t count,
                                                    uint64_t limit, char** json);

/* Exports to a file for other tools: Chrome's JSON if `path` ends in .json, else Perfetto's
 * protobuf. An existing file is replaced when the new one is complete. Stacks omit the frames of
 * the interpreter, libffi and the loader (docs/stacks.md); tracesmith_export_all_frames() includes
 * them. Ranks of a merged trace start at the same time, because the offset of their clocks is not
 * measured. */
TRACESMITH_API tracesmith_status tracesmith_export(tracesmith_trace* trace, const char* path);
TRACESMITH_API tracesmith_status tracesmith_export_all_frames(tracesmith_trace* trace,
                                                              const char* path);

/* ---- recording the calling program ---- */

typedef struct tracesmith_session tracesmith_session;

enum {
  TRACESMITH_BLOCK = 0, /* the emitting thread waits for room */
  TRACESMITH_DROP_NEWEST = 1,
  TRACESMITH_DROP_OLDEST = 2
};

typedef struct tracesmith_session_options {
  uint32_t struct_size;
  uint32_t overflow;       /* what to do when a ring is full; every dropped event is counted */
  const char* output_file; /* NULL: keep the trace in memory */
  uint64_t buffer_kib;     /* size of each thread's ring: 4 to 262144; default 1024 */
  /* Rings at one time, including those of forked children; default 1024. */
  uint32_t max_threads;
  /* Longest time until an event is written; at most this much is lost if the process dies; default
   * 200. */
  uint32_t flush_interval_ms;
  uint64_t duration_ms; /* stop automatically after this time; 0: never */
} tracesmith_session_options;

/* Starts a recording; `options` may be NULL. Forked children record into it as well. */
TRACESMITH_API tracesmith_status tracesmith_session_start(const tracesmith_session_options* options,
                                                          tracesmith_session** session);
/* On return, everything emitted before the call is in the trace. A second call does nothing. Any
 * thread may call stop, flush and export; they wait for each other. */
TRACESMITH_API tracesmith_status tracesmith_session_stop(tracesmith_session* session);
TRACESMITH_API tracesmith_status tracesmith_session_flush(tracesmith_session* session);
/* Stops the session and frees it. No thread may use it meanwhile. */
TRACESMITH_API void tracesmith_session_free(tracesmith_session* session);
/* Path of the trace, for tracesmith_open(), also while the session runs. A trace in memory lives as
 * long as the session. The pointer is valid until the session is started or stopped. */
TRACESMITH_API const char* tracesmith_session_path(const tracesmith_session* session);
/* Writes the trace so far; the extension of `path` chooses the format: .sbt, .json (Chrome),
 * otherwise Perfetto. */
TRACESMITH_API tracesmith_status tracesmith_session_export(tracesmith_session* session,
                                                           const char* path);

typedef struct tracesmith_session_info {
  uint32_t struct_size;
  uint32_t running;
  uint64_t events;   /* passed to the session, without counters */
  uint64_t counters; /* passed to the session */
  uint64_t dropped;  /* events and counters not in the trace */
} tracesmith_session_info;
TRACESMITH_API tracesmith_status tracesmith_session_get_info(const tracesmith_session* session,
                                                             tracesmith_session_info* info);

/* Interns a name of spans, markers and allocators, or a counter's name and unit (may be NULL), and
 * returns its number. Any thread. Returns 0 if the session is not running; calls with 0 record
 * nothing. After 16 MiB of names, every new name is TRACESMITH_NO_ROOM_FOR_NAME, called "(no room
 * for more names)". */
#define TRACESMITH_NO_ROOM_FOR_NAME 1
TRACESMITH_API uint32_t tracesmith_session_intern(tracesmith_session* session, const char* text,
                                                  size_t bytes);
TRACESMITH_API uint32_t tracesmith_session_counter_track(tracesmith_session* session,
                                                         const char* name, const char* unit);

/* Any thread may call the following, also in forked children. After a thread's first call they take
 * no lock and allocate no memory. They return 0 if the event was dropped, which is counted, or if
 * the session is not running. */

/* A time stamp for spans, in the session's own unit. 0: no time stamp is available; a span with it
 * is not recorded. */
TRACESMITH_API int64_t tracesmith_session_stamp(tracesmith_session* session);
TRACESMITH_API int tracesmith_session_span(tracesmith_session* session, uint32_t name,
                                           int64_t begin, int64_t end);
TRACESMITH_API int tracesmith_session_marker(tracesmith_session* session, uint32_t name);
TRACESMITH_API int tracesmith_session_counter(tracesmith_session* session, uint32_t track,
                                              double value);
/* Records an allocation or a release by the allocator `name`. */
TRACESMITH_API int tracesmith_session_memory(tracesmith_session* session, uint32_t name,
                                             uint64_t address, uint64_t bytes, int is_allocation);

/* ---- replaying ---- */

enum { /* modes */
       TRACESMITH_REPLAY_FULL = 0,
       /* Operations selected by start_... and end_..., and those they depend on. */
       TRACESMITH_REPLAY_PARTIAL = 1,
       /* Find, order and check the operations, without executing them. */
       TRACESMITH_REPLAY_DRY_RUN = 2,
       TRACESMITH_REPLAY_STREAM = 3 /* operations of stream_id, and those they depend on */
};
enum { /* schedulings */
       TRACESMITH_ORIGINAL_TIMING = 0,
       TRACESMITH_ROUND_ROBIN = 1,
       TRACESMITH_PRIORITY = 2
};
enum { /* flags: which members are set, and what to compare */
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
  double step_limit_s; /* time limit of one command, in s; default 60 */
  /* Device number or part of its name. NULL: the recorded device, else any device, else none.
   * "simulated": no device. */
  const char* device;
} tracesmith_replay_options;

typedef struct tracesmith_replay_result tracesmith_replay_result;

/* Replays a recording (.sbr), a trace with its recording beside it, or, on a virtual clock, any
 * other trace (docs/replay.md). To execute it forks, so call it from a process that has not loaded
 * a driver. Errors of the replay itself are in the result; the call fails only if nothing could be
 * loaded. `options` may be NULL. */
TRACESMITH_API tracesmith_status tracesmith_replay(const char* path,
                                                   const tracesmith_replay_options* options,
                                                   tracesmith_replay_result** result);

typedef struct tracesmith_replay_info {
  uint32_t struct_size;
  uint32_t success;       /* everything requested was done, without errors */
  uint32_t deterministic; /* executed, and everything read back was equal */
  uint32_t simulated;     /* nothing was executed: times are virtual */
  uint64_t total;         /* operations; each is executed, simulated or skipped */
  uint64_t executed;
  uint64_t simulated_operations;
  uint64_t skipped;
  uint64_t failed;
  uint64_t duration_ns;
  uint64_t original_duration_ns;
  uint64_t read_backs; /* compared with the recording */
  uint64_t read_backs_equal;
  uint64_t launches_hashed; /* with TRACESMITH_REPLAY_CHECKSUMS */
  uint64_t launches_equal;
  uint64_t errors;
  /* Device that executed, or ""; like `summary` it lives as long as the result. */
  const char* device;
  const char* summary; /* a few lines for people */
} tracesmith_replay_info;
TRACESMITH_API tracesmith_status tracesmith_replay_get_info(const tracesmith_replay_result* result,
                                                            tracesmith_replay_info* info);
/* Error number `index`, or NULL if there are fewer. Lives as long as the result. */
TRACESMITH_API const char* tracesmith_replay_error(const tracesmith_replay_result* result,
                                                   size_t index);
TRACESMITH_API void tracesmith_replay_free(tracesmith_replay_result* result);

/* ---- former names: kept for programs that were compiled or written with them ---- */

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
