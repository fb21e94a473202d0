// SPDX-License-Identifier: Apache-2.0
//! Spans of the crate `tracing` in a trace: `cargo run --features tracing --example spans -- run.sbt`
use std::sync::Arc;
use tracesmith::{Options, Session, SessionLayer};
use tracing_subscriber::prelude::*;

fn fibonacci(n: u64) -> u64 {
    let _span = tracing::info_span!("fibonacci", n).entered();
    if n < 2 {
        n
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: spans OUTPUT")?;
    let options = Options { output_file: Some(path.into()), ..Options::default() };
    let session = Arc::new(Session::start(&options)?);
    tracing_subscriber::registry().with(SessionLayer::new(session.clone())).init();
    for n in 0..10 {
        tracing::info!(counter.result = fibonacci(n), "computed");
    }
    session.stop()?;
    println!("{} spans and markers in {}", session.info()?.events, session.path().display());
    Ok(())
}
