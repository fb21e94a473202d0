// SPDX-License-Identifier: Apache-2.0
//! Spans of the crate `tracing` in a trace of ours.
use crate::{Counter, Name, Session};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing-subscriber`: each time a span is entered and left is a span of the session,
/// on the thread that did; an event with a message is a marker, and each number in it whose field is
/// called `counter.NAME` a value of the counter NAME.
///
/// ```
/// use tracing_subscriber::prelude::*;
/// # fn main() -> Result<(), tracesmith::Error> {
/// let session = std::sync::Arc::new(tracesmith::Session::start(&Default::default())?);
/// let subscriber = tracing_subscriber::registry().with(tracesmith::SessionLayer::new(session.clone()));
/// tracing::subscriber::with_default(subscriber, || {
///     let _step = tracing::info_span!("step").entered();
///     tracing::info!(counter.loss = 0.5, "evaluated");
/// });
/// session.stop()?;
/// let trace = tracesmith::Trace::open(session.path())?;
/// assert_eq!(trace.rows("range")?, 2); // the span and the marker
/// assert_eq!(trace.rows("counter")?, 1);
/// # Ok(())
/// # }
/// ```
pub struct SessionLayer {
    session: Arc<Session>,
    counters: RwLock<HashMap<&'static str, Counter>>,
}

/// Of a span, in the registry: its name in each session that has a layer.
struct SpanNames(Vec<(usize, Name)>);

thread_local! {
    /// Which spans this thread is in, of which session, and since when.
    static ENTERED: RefCell<Vec<(usize, Id, i64)>> = const { RefCell::new(Vec::new()) };
}

impl SessionLayer {
    /// Records into this session while it runs. Who stops it holds it as well.
    pub fn new(session: Arc<Session>) -> Self {
        Self { session, counters: RwLock::default() }
    }

    fn key(&self) -> usize {
        Arc::as_ptr(&self.session) as usize
    }

    fn counter(&self, field: &'static str) -> Counter {
        if let Some(known) = self.counters.read().ok().and_then(|all| all.get(field).copied()) {
            return known;
        }
        let made = self.session.counter_name(&field["counter.".len()..], "");
        if let Ok(mut all) = self.counters.write() {
            all.insert(field, made);
        }
        made
    }

    /// Its message; where it has none, or the session has no more room for names, its place.
    fn marker(&self, event: &Event<'_>, message: Option<String>) -> Name {
        let name = message.map_or(Name(0), |text| self.session.name(&text));
        if name == Name(0) {
            self.session.name(event.metadata().name())
        } else {
            name
        }
    }
}

/// Reads the fields of an event.
struct Fields<'a> {
    layer: &'a SessionLayer,
    counters: bool,
    message: Option<String>,
}
impl Fields<'_> {
    fn put(&mut self, field: &Field, value: f64) {
        if field.name().starts_with("counter.") {
            self.counters = true;
            self.layer.session.counter(self.layer.counter(field.name()), value);
        }
    }
}
impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value as f64);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value as f64);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.message = Some(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SessionLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let name = self.session.name(attributes.metadata().name());
            let mut extensions = span.extensions_mut();
            match extensions.get_mut::<SpanNames>() {
                Some(names) => names.0.push((self.key(), name)),
                None => extensions.insert(SpanNames(vec![(self.key(), name)])),
            }
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        let begin = self.session.stamp();
        let _ = ENTERED.try_with(|all| all.borrow_mut().push((self.key(), id.clone(), begin)));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let key = self.key();
        let begin = ENTERED.try_with(|all| {
            let mut all = all.borrow_mut();
            let place = all.iter().rposition(|(of, entered, _)| *of == key && entered == id)?;
            Some(all.remove(place).2)
        });
        let Ok(Some(begin)) = begin else { return };
        if let Some(span) = context.span(id) {
            if let Some(names) = span.extensions().get::<SpanNames>() {
                for (_, name) in names.0.iter().filter(|(of, _)| *of == key) {
                    self.session.emit_span(*name, begin);
                }
            }
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields { layer: self, counters: false, message: None };
        event.record(&mut fields);
        if fields.message.is_some() || !fields.counters {
            self.session.marker(self.marker(event, fields.message));
        }
    }
}
