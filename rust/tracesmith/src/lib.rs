// SPDX-License-Identifier: Apache-2.0
//! TraceSmith for Rust: reads, records and replays the GPU activity of programs.
//!
//! Columns of a trace are slices of its memory:
//!
//! ```
//! # fn main() -> Result<(), tracesmith::Error> {
//! # let session = tracesmith::Session::start(&Default::default())?;
//! # let step = session.name("step");
//! # drop(session.span(step));
//! # session.stop()?;
//! # let path = session.path();
//! let trace = tracesmith::Trace::open(&path)?;
//! let names = trace.column("range", "name")?;
//! let durations = trace.column("range", "duration_ns")?;
//! for (name, ns) in names.texts().unwrap().iter().zip(durations.i64s().unwrap()) {
//!     println!("{} took {ns} ns", name.unwrap_or("?"));
//! }
//! # assert_eq!(durations.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! SQL answers everything else:
//!
//! ```no_run
//! # fn main() -> Result<(), tracesmith::Error> {
//! let trace = tracesmith::Trace::open("run.sbt")?;
//! let answer = trace.query("SELECT name, sum(duration_ns) FROM kernel GROUP BY name")?;
//! for row in answer {
//!     let row = row?;
//!     println!("{}: {} ns", row[0], row[1]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Session`] records spans and counters of the program itself. With the feature `tracing` it
//! also records those of the crate `tracing`. [`replay`] executes a recording again.
//!
//! The crate needs `libtracesmith.so`. It is found by pkg-config, or in `TRACESMITH_LIB_DIR`.

mod answer;
mod column;
mod error;
#[cfg(feature = "tracing")]
mod layer;
mod replay;
mod session;
mod trace;

pub use answer::{Answer, Value};
pub use column::{Column, Texts, Values};
pub use error::{Error, ErrorKind};
#[cfg(feature = "tracing")]
pub use layer::SessionLayer;
pub use replay::{replay, Mode, ReplayOptions, ReplayReport, Scheduling};
pub use session::{Counter, Name, Options, Overflow, Session, SessionInfo, Span};
pub use trace::{ColumnInfo, Interrupt, TableInfo, Trace, TraceInfo};

/// Runs the programs of the guide as documentation tests.
#[cfg(all(doctest, feature = "tracing"))]
#[doc = include_str!("../../../docs/rust_and_c.md")]
struct Guide;
