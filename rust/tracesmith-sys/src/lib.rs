// SPDX-License-Identifier: Apache-2.0
//! The functions and structs of `tracesmith/tracesmith.h`, with the same names. The header
//! documents them. The crate `tracesmith` is the safe interface.
#![no_std]
#![allow(non_camel_case_types)]
#![allow(missing_docs)] // documented in the header

use core::ffi::{c_char, c_int, c_void};

/// The version of the interface that this crate was written for.
pub const TRACESMITH_ABI: u32 = 1;

/// One of the constants below.
pub type tracesmith_status = i32;
pub const TRACESMITH_OK: tracesmith_status = 0;
pub const TRACESMITH_INVALID_ARGUMENT: tracesmith_status = 1;
pub const TRACESMITH_NOT_FOUND: tracesmith_status = 2;
pub const TRACESMITH_PERMISSION: tracesmith_status = 3;
pub const TRACESMITH_NO_SPACE: tracesmith_status = 4;
pub const TRACESMITH_IO: tracesmith_status = 5;
pub const TRACESMITH_NOT_A_TRACE: tracesmith_status = 6;
pub const TRACESMITH_TOO_NEW: tracesmith_status = 7;
pub const TRACESMITH_DAMAGED: tracesmith_status = 8;
pub const TRACESMITH_UNSUPPORTED: tracesmith_status = 9;
pub const TRACESMITH_INTERNAL: tracesmith_status = 10;
pub const TRACESMITH_INTERRUPTED: tracesmith_status = 11;

pub const TRACESMITH_UINT32: u32 = 1;
pub const TRACESMITH_INT64: u32 = 2;
pub const TRACESMITH_UINT64: u32 = 3;
pub const TRACESMITH_DOUBLE: u32 = 4;
pub const TRACESMITH_TEXT: u32 = 5;

pub const TRACESMITH_NO_ROOM_FOR_NAME: u32 = 1;

pub const TRACESMITH_BLOCK: u32 = 0;
pub const TRACESMITH_DROP_NEWEST: u32 = 1;
pub const TRACESMITH_DROP_OLDEST: u32 = 2;

pub const TRACESMITH_REPLAY_FULL: u32 = 0;
pub const TRACESMITH_REPLAY_PARTIAL: u32 = 1;
pub const TRACESMITH_REPLAY_DRY_RUN: u32 = 2;
pub const TRACESMITH_REPLAY_STREAM: u32 = 3;
pub const TRACESMITH_ORIGINAL_TIMING: u32 = 0;
pub const TRACESMITH_ROUND_ROBIN: u32 = 1;
pub const TRACESMITH_PRIORITY: u32 = 2;
pub const TRACESMITH_REPLAY_START_TIME: u32 = 1;
pub const TRACESMITH_REPLAY_END_TIME: u32 = 2;
pub const TRACESMITH_REPLAY_START_OPERATION: u32 = 4;
pub const TRACESMITH_REPLAY_END_OPERATION: u32 = 8;
pub const TRACESMITH_REPLAY_CHECKSUMS: u32 = 16;

macro_rules! handles {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}
handles! { tracesmith_trace tracesmith_column tracesmith_session tracesmith_replay_result }

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_trace_info {
    pub struct_size: u32,
    pub complete: u32,
    pub file_bytes: u64,
    pub cut_bytes: u64,
    pub damaged: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_table_info {
    pub struct_size: u32,
    pub columns: u32,
    pub name: *const c_char,
    pub meaning: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_column_info {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub type_: *const c_char,
    pub meaning: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_column_view {
    pub struct_size: u32,
    pub type_: u32,
    pub rows: u64,
    pub values: *const c_void,
    pub valid: *const u8,
    pub nulls: u64,
    pub texts: *const c_char,
    pub text_begins: *const i64,
    pub text_count: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_session_options {
    pub struct_size: u32,
    pub overflow: u32,
    pub output_file: *const c_char,
    pub buffer_kib: u64,
    pub max_threads: u32,
    pub flush_interval_ms: u32,
    pub duration_ms: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_session_info {
    pub struct_size: u32,
    pub running: u32,
    pub events: u64,
    pub counters: u64,
    pub dropped: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_replay_options {
    pub struct_size: u32,
    pub mode: u32,
    pub scheduling: u32,
    pub flags: u32,
    pub start_time: u64,
    pub end_time: u64,
    pub start_operation: u64,
    pub end_operation: u64,
    pub stream_id: u32,
    pub reserved: u32,
    pub time_scale: f64,
    pub step_limit_s: f64,
    pub device: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tracesmith_replay_info {
    pub struct_size: u32,
    pub success: u32,
    pub deterministic: u32,
    pub simulated: u32,
    pub total: u64,
    pub executed: u64,
    pub simulated_operations: u64,
    pub skipped: u64,
    pub failed: u64,
    pub duration_ns: u64,
    pub original_duration_ns: u64,
    pub read_backs: u64,
    pub read_backs_equal: u64,
    pub launches_hashed: u64,
    pub launches_equal: u64,
    pub errors: u64,
    pub device: *const c_char,
    pub summary: *const c_char,
}

/// <https://arrow.apache.org/docs/format/CDataInterface.html>
#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

/// <https://arrow.apache.org/docs/format/CDataInterface.html>
#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub private_data: *mut c_void,
}

/// <https://arrow.apache.org/docs/format/CStreamInterface.html>
#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub private_data: *mut c_void,
}

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        extern "C" {
            $($(#[$doc])* pub fn $name($($argument: $type),*) $(-> $result)?;)*
        }
        /// The address of each function. A program that calls this links only if the library has
        /// all of them.
        pub fn addresses() -> impl Iterator<Item = (&'static str, usize)> {
            [$((stringify!($name), $name as *const () as usize)),*].into_iter()
        }
    };
}

functions! {
    fn tracesmith_last_error() -> *const c_char;
    fn tracesmith_abi() -> u32;
    fn tracesmith_version() -> *const c_char;
    fn tracesmith_string_free(text: *mut c_char);

    fn tracesmith_open(path: *const c_char, trace: *mut *mut tracesmith_trace) -> tracesmith_status;
    fn tracesmith_close(trace: *mut tracesmith_trace);
    fn tracesmith_trace_get_info(
        trace: *mut tracesmith_trace,
        info: *mut tracesmith_trace_info,
    ) -> tracesmith_status;
    fn tracesmith_table_count(trace: *mut tracesmith_trace) -> usize;
    fn tracesmith_table_at(
        trace: *mut tracesmith_trace,
        index: usize,
        info: *mut tracesmith_table_info,
    ) -> tracesmith_status;
    fn tracesmith_column_at(
        trace: *mut tracesmith_trace,
        table: *const c_char,
        index: usize,
        info: *mut tracesmith_column_info,
    ) -> tracesmith_status;
    fn tracesmith_row_count(
        trace: *mut tracesmith_trace,
        table: *const c_char,
        rows: *mut u64,
    ) -> tracesmith_status;
    fn tracesmith_load(
        trace: *mut tracesmith_trace,
        table: *const c_char,
        columns: *const *const c_char,
        count: usize,
    ) -> tracesmith_status;
    fn tracesmith_column_read(
        trace: *mut tracesmith_trace,
        table: *const c_char,
        name: *const c_char,
        column: *mut *mut tracesmith_column,
    ) -> tracesmith_status;
    fn tracesmith_column_get(
        column: *const tracesmith_column,
        view: *mut tracesmith_column_view,
    ) -> tracesmith_status;
    fn tracesmith_column_free(column: *mut tracesmith_column);
    fn tracesmith_arrow(
        trace: *mut tracesmith_trace,
        table: *const c_char,
        columns: *const *const c_char,
        count: usize,
        stream: *mut ArrowArrayStream,
    ) -> tracesmith_status;
    fn tracesmith_query(
        trace: *mut tracesmith_trace,
        sql: *const c_char,
        stream: *mut ArrowArrayStream,
    ) -> tracesmith_status;
    fn tracesmith_interrupt(trace: *mut tracesmith_trace);
    fn tracesmith_analyze(
        trace: *mut tracesmith_trace,
        parts: *const *const c_char,
        count: usize,
        limit: u64,
        json: *mut *mut c_char,
    ) -> tracesmith_status;
    fn tracesmith_export(trace: *mut tracesmith_trace, path: *const c_char) -> tracesmith_status;
    fn tracesmith_export_all_frames(
        trace: *mut tracesmith_trace,
        path: *const c_char,
    ) -> tracesmith_status;

    fn tracesmith_session_start(
        options: *const tracesmith_session_options,
        session: *mut *mut tracesmith_session,
    ) -> tracesmith_status;
    fn tracesmith_session_stop(session: *mut tracesmith_session) -> tracesmith_status;
    fn tracesmith_session_flush(session: *mut tracesmith_session) -> tracesmith_status;
    fn tracesmith_session_free(session: *mut tracesmith_session);
    fn tracesmith_session_path(session: *const tracesmith_session) -> *const c_char;
    fn tracesmith_session_export(
        session: *mut tracesmith_session,
        path: *const c_char,
    ) -> tracesmith_status;
    fn tracesmith_session_get_info(
        session: *const tracesmith_session,
        info: *mut tracesmith_session_info,
    ) -> tracesmith_status;
    fn tracesmith_session_intern(
        session: *mut tracesmith_session,
        text: *const c_char,
        bytes: usize,
    ) -> u32;
    fn tracesmith_session_counter_track(
        session: *mut tracesmith_session,
        name: *const c_char,
        unit: *const c_char,
    ) -> u32;
    fn tracesmith_session_stamp(session: *mut tracesmith_session) -> i64;
    fn tracesmith_session_span(
        session: *mut tracesmith_session,
        name: u32,
        begin: i64,
        end: i64,
    ) -> c_int;
    fn tracesmith_session_marker(session: *mut tracesmith_session, name: u32) -> c_int;
    fn tracesmith_session_counter(
        session: *mut tracesmith_session,
        track: u32,
        value: f64,
    ) -> c_int;
    fn tracesmith_session_memory(
        session: *mut tracesmith_session,
        name: u32,
        address: u64,
        bytes: u64,
        is_allocation: c_int,
    ) -> c_int;

    fn tracesmith_replay(
        path: *const c_char,
        options: *const tracesmith_replay_options,
        result: *mut *mut tracesmith_replay_result,
    ) -> tracesmith_status;
    fn tracesmith_replay_get_info(
        result: *const tracesmith_replay_result,
        info: *mut tracesmith_replay_info,
    ) -> tracesmith_status;
    fn tracesmith_replay_error(
        result: *const tracesmith_replay_result,
        index: usize,
    ) -> *const c_char;
    fn tracesmith_replay_free(result: *mut tracesmith_replay_result);
}
