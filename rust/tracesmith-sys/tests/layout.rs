// SPDX-License-Identifier: Apache-2.0
//! The structs match those of the header, and the library has each function of the header.
use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;
use tracesmith_sys::*;

macro_rules! layout {
    ($($type:ident { $($member:ident),* })*) => {
        BTreeMap::from([$(
            (stringify!($type).to_string(), size_of::<$type>()),
            $((concat!(stringify!($type), ".", stringify!($member)).trim_end_matches('_').to_string(), offset_of!($type, $member)),)*
        )*])
    };
}

macro_rules! constants {
    ($($name:ident)*) => {[$((stringify!($name).to_string(), $name as usize)),*]};
}

#[test]
fn structs_and_constants_are_those_of_the_header() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = std::env::temp_dir().join(format!("tracesmith-layout-{}", std::process::id()));
    let compiled = Command::new("cc")
        .arg("-std=c99")
        .arg(format!("-I{}", root.join("include").display()))
        .arg(format!("-I{}", root.join("src").display()))
        .arg(root.join("tests/c_api/layout.c"))
        .arg("-o")
        .arg(&program)
        .status()
        .expect("a C compiler (cc) is needed");
    assert!(compiled.success());
    let output = Command::new(&program).output().expect("what was just compiled");
    std::fs::remove_file(&program).expect("what was just run");
    let in_c: BTreeMap<String, usize> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        // The crate does not have the former names of C functions.
        .filter(|(name, _)| !name.split('.').next().unwrap().ends_with("_facts"))
        .map(|(name, number)| (name.to_string(), number.parse().unwrap()))
        .collect();
    let mut here = layout! {
        tracesmith_trace_info { struct_size, complete, file_bytes, cut_bytes, damaged }
        tracesmith_table_info { struct_size, columns, name, meaning }
        tracesmith_column_info { struct_size, reserved, name, type_, meaning }
        tracesmith_column_view { struct_size, type_, rows, values, valid, nulls, texts, text_begins, text_count }
        tracesmith_session_options { struct_size, overflow, output_file, buffer_kib, max_threads, flush_interval_ms, duration_ms }
        tracesmith_session_info { struct_size, running, events, counters, dropped }
        tracesmith_replay_options { struct_size, mode, scheduling, flags, start_time, end_time, start_operation, end_operation, stream_id, reserved, time_scale, step_limit_s, device }
        tracesmith_replay_info { struct_size, success, deterministic, simulated, total, executed, simulated_operations, skipped, failed, duration_ns, original_duration_ns, read_backs, read_backs_equal, launches_hashed, launches_equal, errors, device, summary }
    };
    here.extend(constants! {TRACESMITH_OK TRACESMITH_INVALID_ARGUMENT TRACESMITH_NOT_FOUND TRACESMITH_PERMISSION TRACESMITH_NO_SPACE TRACESMITH_IO TRACESMITH_NOT_A_TRACE TRACESMITH_TOO_NEW TRACESMITH_DAMAGED TRACESMITH_UNSUPPORTED TRACESMITH_INTERNAL TRACESMITH_INTERRUPTED TRACESMITH_UINT32 TRACESMITH_INT64 TRACESMITH_UINT64 TRACESMITH_DOUBLE TRACESMITH_TEXT TRACESMITH_BLOCK TRACESMITH_DROP_NEWEST TRACESMITH_DROP_OLDEST TRACESMITH_REPLAY_FULL TRACESMITH_REPLAY_PARTIAL TRACESMITH_REPLAY_DRY_RUN TRACESMITH_REPLAY_STREAM TRACESMITH_ORIGINAL_TIMING TRACESMITH_ROUND_ROBIN TRACESMITH_PRIORITY TRACESMITH_REPLAY_START_TIME TRACESMITH_REPLAY_END_TIME TRACESMITH_REPLAY_START_OPERATION TRACESMITH_REPLAY_END_OPERATION TRACESMITH_NO_ROOM_FOR_NAME});
    assert_eq!(here, in_c);
}

#[test]
fn functions_are_those_of_the_header() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tracesmith/c_api/c_api.h");
    let text = std::fs::read_to_string(header).unwrap();
    let (current, _) = text.split_once("---- former names").expect("the header has former names");
    let mut declared: Vec<&str> = current
        .split("TRACESMITH_API ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .filter_map(|head| head.split([' ', '*', '\n']).next_back())
        .filter(|name| name.starts_with("tracesmith_"))
        .collect();
    declared.sort_unstable();
    let mut here: Vec<&str> = addresses().map(|(name, _)| name).collect();
    here.sort_unstable();
    assert_eq!(here, declared);
    assert!(addresses().all(|(_, address)| address != 0));
    assert_eq!(unsafe { tracesmith_abi() }, TRACESMITH_ABI);
}
