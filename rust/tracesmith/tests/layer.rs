// SPDX-License-Identifier: Apache-2.0
//! Spans and events of the crate `tracing`.
#![cfg(feature = "tracing")]
use std::sync::Arc;
use tracesmith::{Session, SessionLayer, Trace};
use tracing_subscriber::prelude::*;

#[test]
fn spans_events_and_counters_of_threads() {
    let session = Arc::new(Session::start(&Default::default()).unwrap());
    let other = Arc::new(Session::start(&Default::default()).unwrap());
    let subscriber = tracing_subscriber::registry()
        .with(SessionLayer::new(session.clone()))
        .with(SessionLayer::new(other.clone()));
    let dispatch = tracing::Dispatch::new(subscriber);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let dispatch = &dispatch;
            scope.spawn(move || {
                tracing::dispatcher::with_default(dispatch, || {
                    for i in 0..10 {
                        let outer = tracing::info_span!("outer", thread).entered();
                        tracing::info_span!("inner").in_scope(|| {
                            tracing::info!(counter.loss = 0.5, counter.step = i, "message {i}");
                            tracing::info!(message = "literal");
                        });
                        tracing::info!(counter.alone = 1_u64);
                        drop(outer.exit()); // entered once
                    }
                });
            });
        }
    });
    // A span that two threads have entered at the same time.
    tracing::dispatcher::with_default(&dispatch, || {
        let shared = tracing::info_span!("shared");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    tracing::dispatcher::with_default(&dispatch, || shared.in_scope(|| ()))
                });
            }
        });
    });
    for session in [session, other] {
        session.stop().unwrap();
        let trace = Trace::open(session.path()).unwrap();
        let count = |sql: &str| trace.query(sql).unwrap().next().unwrap().unwrap()[0].as_i64();
        assert_eq!(count("SELECT count(*) FROM range WHERE name = 'outer'"), Some(40));
        assert_eq!(count("SELECT count(*) FROM range WHERE name = 'inner'"), Some(40));
        assert_eq!(count("SELECT count(*) FROM range WHERE name = 'shared'"), Some(2));
        assert_eq!(count("SELECT count(*) FROM range WHERE name = 'message 3'"), Some(4));
        assert_eq!(count("SELECT count(*) FROM range WHERE name = 'literal'"), Some(40));
        assert_eq!(count("SELECT count(*) FROM range WHERE name LIKE 'event %'"), Some(0));
        assert_eq!(count("SELECT count(*) FROM counter"), Some(120));
        assert_eq!(
            count(
                "SELECT count(*) FROM range a JOIN range b USING (thread_id) WHERE a.name = 'inner' \
                 AND b.name = 'outer' AND a.start_ns >= b.start_ns AND a.end_ns <= b.end_ns"
            ),
            Some(40)
        );
    }
}

#[test]
fn there_may_be_any_number_of_messages() {
    let session = Arc::new(Session::start(&Default::default()).unwrap());
    let subscriber = tracing_subscriber::registry().with(SessionLayer::new(session.clone()));
    tracing::subscriber::with_default(subscriber, || {
        for i in 0..10_500 {
            tracing::info!("message {i}");
        }
    });
    session.stop().unwrap();
    let trace = Trace::open(session.path()).unwrap();
    let count = |sql: &str| trace.query(sql).unwrap().next().unwrap().unwrap()[0].as_i64();
    assert_eq!(count("SELECT count(*) FROM range"), Some(10_500));
    assert_eq!(count("SELECT count(*) FROM range WHERE name LIKE 'event %layer.rs%'"), Some(500));
}
