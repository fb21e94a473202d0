// SPDX-License-Identifier: Apache-2.0
//! The structs are those of the header, and each function of it is in the library.
use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;
use tracesmith_sys::*;

macro_rules! layout {
    ($($type:ident { $($member:ident),* })*) => {
        BTreeMap::from([$(
            (stringify!($type).to_string(), size_of::<$type>()),
            $((concat!(stringify!($type), ".", stringify!($member)).to_string(), offset_of!($type, $member)),)*
        )*])
    };
}

#[test]
fn structs_are_those_of_the_header() {
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
        .map(|(name, number)| (name.to_string(), number.parse().unwrap()))
        .collect();
    let here = layout! {
        tracesmith_trace_facts { damaged }
        tracesmith_table_facts { meaning }
        tracesmith_column_facts { meaning }
        tracesmith_column_view { valid, text_count }
        tracesmith_session_options { max_threads, duration_ms }
        tracesmith_session_facts { dropped }
        tracesmith_replay_options { stream_id, device }
        tracesmith_replay_facts { errors, summary }
    };
    assert_eq!(here, in_c);
}

#[test]
fn functions_are_those_of_the_header() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tracesmith/c_api/c_api.h");
    let text = std::fs::read_to_string(header).unwrap();
    let mut declared: Vec<&str> = text
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
