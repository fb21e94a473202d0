// SPDX-License-Identifier: Apache-2.0
//! Records sessions of this process, and reads their traces.
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracesmith::{
    replay, ErrorKind, Options, Overflow, ReplayOptions, Session, Trace, Value, Values,
};

fn recorded() -> (Session, Trace) {
    let session = Session::start(&Options::default()).unwrap();
    let (even, odd) = (session.name("even"), session.name("odd"));
    let count = session.counter_name("count", "1");
    let pool = session.name("pool");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..50 {
                    let _span = session.span(if i % 2 == 0 { even } else { odd });
                    assert!(session.counter(count, f64::from(i)));
                }
            });
        }
    });
    assert!(session.marker(session.name("done")));
    assert!(session.allocation(pool, 0x1000, 64));
    assert!(session.release(pool, 0x1000, 64));
    session.stop().unwrap();
    let trace = Trace::open(session.path()).unwrap();
    (session, trace)
}

#[test]
fn columns_outlive_their_trace() {
    let (session, trace) = recorded();
    let info = session.info().unwrap();
    assert!(!info.running);
    assert_eq!((info.events, info.counters, info.dropped), (203, 200, 0));
    assert!(trace.info().unwrap().complete);

    let names = trace.column("range", "name").unwrap();
    let starts = trace.column("range", "start_ns").unwrap();
    let values = trace.column("counter", "value").unwrap();
    drop(trace);
    drop(session);
    let texts = names.texts().unwrap();
    assert_eq!(texts.categories(), 3);
    assert_eq!((texts.category(0), texts.category(1), texts.category(2)), ("done", "even", "odd"));
    let odd = texts.code_of("odd").unwrap();
    assert_eq!(texts.codes.iter().filter(|&&code| code == odd).count(), 100);
    assert_eq!(texts.iter().filter(|text| *text == Some("even")).count(), 100);
    assert_eq!(texts.code_of("none"), None);
    assert_eq!(starts.len(), 201);
    assert!(starts.i64s().unwrap().iter().all(|&ns| ns > 0));
    assert_eq!(values.f64s().unwrap().iter().sum::<f64>(), 4.0 * 49.0 * 50.0 / 2.0);
    assert!(values.i64s().is_none() && values.texts().is_none());
    let moved = std::thread::spawn(move || values.len());
    assert_eq!(moved.join().unwrap(), 200);
}

#[test]
fn each_column_of_each_table_is_that_of_sql() {
    let (_session, trace) = recorded();
    let mut compared = 0;
    for table in trace.tables().unwrap() {
        let rows = trace.rows(&table.name).unwrap();
        for info in &table.columns {
            let column = trace.column(&table.name, &info.name).unwrap();
            assert_eq!(column.len() as u64, rows, "{}.{}", table.name, info.name);
            assert_eq!(matches!(column.values(), Values::Texts(_)), info.kind == "TEXT");
            let sql = format!("SELECT \"{}\" FROM \"{}\"", info.name, table.name);
            for (row, cells) in trace.query(&sql).unwrap().enumerate() {
                let cells = cells.unwrap();
                let here = match column.values() {
                    _ if !column.is_known(row) => Value::Null,
                    Values::U32(all) => Value::Integer(i64::from(all[row])),
                    Values::I64(all) => Value::Integer(all[row]),
                    Values::U64(all) => Value::Integer(all[row] as i64),
                    Values::F64(all) => Value::Real(all[row]),
                    Values::Texts(all) => Value::Text(all.get(row).unwrap().to_string()),
                    _ => unreachable!(),
                };
                let same = match (&here, &cells[0]) {
                    (Value::Real(a), b) => b.as_f64() == Some(*a),
                    (a, b) => a == b,
                };
                assert!(same, "{}.{} row {row}: {here} {}", table.name, info.name, cells[0]);
                compared += 1;
            }
        }
    }
    assert!(compared > 1000);
}

#[test]
fn answers() {
    let (_session, trace) = recorded();
    let mut answer = trace
        .query(
            "SELECT name, count(*) AS n, avg(1.5), NULL FROM range GROUP BY name ORDER BY n, name",
        )
        .unwrap();
    assert_eq!(answer.columns()[..2], ["name", "n"]);
    let first = answer.next().unwrap().unwrap();
    assert_eq!(first[..3], [Value::Text("done".into()), Value::Integer(1), Value::Real(1.5)]);
    assert_eq!(first[3], Value::Null);
    assert_eq!(answer.count(), 2);
    assert_eq!(trace.query("SELECT 1 FROM range").unwrap().count(), 201);

    // An answer that is not read to its end, and outlives its trace.
    let mut answer = trace.query("SELECT name FROM range").unwrap();
    drop(trace);
    assert!(answer.next().unwrap().unwrap()[0].as_str().is_some());
}

#[test]
fn a_query_is_interrupted() {
    let (_session, trace) = recorded();
    let interrupt = trace.interrupt();
    let over = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                interrupt.now();
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let sql = "SELECT sum(a.duration_ns + b.duration_ns + c.duration_ns + d.duration_ns) \
                   FROM range a, range b, range c, range d";
        let error = trace.query(sql).and_then(|answer| answer.collect::<Result<Vec<_>, _>>());
        over.store(true, Ordering::Relaxed);
        error.unwrap_err()
    });
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(trace.query("SELECT 1").unwrap().count(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let (session, trace) = recorded();
    let kind = |error: tracesmith::Error| error.kind();
    assert_eq!(kind(Trace::open("/nowhere.sbt").err().unwrap()), ErrorKind::NotFound);
    assert_eq!(kind(Trace::open("a\0b").err().unwrap()), ErrorKind::InvalidArgument);
    assert_eq!(kind(trace.column("ranges", "name").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(kind(trace.column("range", "nam\0e").unwrap_err()), ErrorKind::InvalidArgument);
    assert_eq!(kind(trace.rows("nope").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(kind(trace.query("SELECT nope").err().unwrap()), ErrorKind::InvalidArgument);
    assert_eq!(kind(trace.query("ATTACH 'x' AS y").err().unwrap()), ErrorKind::Permission);
    assert_eq!(kind(trace.analyze(&["nope"], 0).unwrap_err()), ErrorKind::InvalidArgument);
    assert_eq!(kind(trace.export("/nowhere/x.json").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(
        kind(replay("/nowhere.sbr", &ReplayOptions::default()).unwrap_err()),
        ErrorKind::NotFound
    );
    let options = Options { output_file: Some("/nowhere/x.sbt".into()), ..Options::default() };
    assert_eq!(kind(Session::start(&options).err().unwrap()), ErrorKind::NotFound);
    use std::os::unix::ffi::OsStrExt;
    let bytes = std::ffi::OsStr::from_bytes(&[0x80; 3000]); // not UTF-8, and too long for a path
    assert!(!Trace::open(bytes).err().unwrap().to_string().is_empty());
    let error = Trace::open("/nowhere.sbt").err().unwrap();
    assert!(error.to_string().contains("/nowhere.sbt"));
    assert!(!session.marker(session.name("after its end")));
}

#[test]
fn analyses_exports_and_replays() {
    let folder = std::env::temp_dir().join(format!("tracesmith-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = Options {
        output_file: Some(folder.join("run.sbt")),
        overflow: Overflow::DropNewest,
        ..Options::default()
    };
    let session = Session::start(&options).unwrap();
    drop(session.span(session.name("one")));
    session.flush().unwrap();
    assert_eq!(Trace::open(session.path()).unwrap().rows("range").unwrap(), 1);
    drop(session.span(session.name("two")));
    session.stop().unwrap();
    session.stop().unwrap();
    let trace = Trace::open(folder.join("run.sbt")).unwrap();
    assert_eq!(trace.rows("range").unwrap(), 2);
    assert!(trace.analyze(&[], 5).unwrap().starts_with('{'));
    trace.export(folder.join("run.json")).unwrap();
    trace.export_all_frames(folder.join("all.json")).unwrap();
    session.export(folder.join("run.pftrace")).unwrap();
    assert!(std::fs::read_to_string(folder.join("run.json")).unwrap().contains("\"two\""));
    assert!(folder.join("run.pftrace").metadata().unwrap().len() > 0);

    // A trace without device work has nothing to replay; the error says so.
    match replay(folder.join("run.sbt"), &ReplayOptions::default()) {
        Ok(report) => assert!(!report.success && !report.errors.is_empty(), "{}", report.summary),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    std::fs::remove_dir_all(folder).unwrap();
}
