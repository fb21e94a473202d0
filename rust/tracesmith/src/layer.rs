// SPDX-License-Identifier: Apache-2.0
//! Records spans and events of the crate `tracing` in a session.
use crate::{Counter, Name, Session};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing-subscriber` that records into a [`Session`].
///
/// - Each time a thread enters and leaves a span, this is a span of the session on that thread.
/// - An event with a message is a marker of that name. After 10,000 different messages, markers are
///   named by their place in the source.
/// - A number in a field called `counter.NAME` is a value of the counter NAME.
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
    places: RwLock<HashMap<Identifier, Name>>,
    messages: RwLock<HashMap<String, Name>>,
}

/// The number of different messages that become names. Later markers are named by their place in
/// the source.
const MOST_MESSAGES: usize = 10_000;

/// Extension of a span in the registry: its name in each session that has a layer.
struct SpanNames(Vec<(usize, Name)>);

thread_local! {
    /// The spans that this thread has entered: session, span, start.
    static ENTERED: RefCell<Vec<(usize, Id, i64)>> = const { RefCell::new(Vec::new()) };
}

impl SessionLayer {
    /// Records into this session while it runs. The caller keeps another `Arc` of it, to stop it.
    pub fn new(session: Arc<Session>) -> Self {
        Self {
            session,
            counters: RwLock::default(),
            places: RwLock::default(),
            messages: RwLock::default(),
        }
    }

    fn key(&self) -> usize {
        Arc::as_ptr(&self.session) as usize
    }

    fn counter(&self, field: &'static str) -> Counter {
        known(&self.counters, &field, usize::MAX, || {
            Some(self.session.counter_name(&field["counter.".len()..], ""))
        })
        .unwrap_or(Counter(0))
    }

    /// The name of a callsite: the name of its span, or the source position of its event.
    fn place(&self, metadata: &'static Metadata<'static>) -> Name {
        known(&self.places, &metadata.callsite(), usize::MAX, || {
            Some(self.session.name(metadata.name()))
        })
        .unwrap_or(Name(0))
    }

    /// The name of an event's marker: its message, unless there are too many different ones.
    fn marker(&self, event: &Event<'_>, message: Option<String>) -> Name {
        message
            .and_then(|text| {
                known(&self.messages, text.as_str(), MOST_MESSAGES, || {
                    Some(self.session.name(&text))
                })
            })
            .unwrap_or_else(|| self.place(event.metadata()))
    }
}

/// The stored value of `key`, or else the result of `make`, which is then stored. `None`: `most`
/// values are stored already, or `make` returned `None`.
fn known<Q, K, V: Copy>(
    all: &RwLock<HashMap<K, V>>,
    key: &Q,
    most: usize,
    make: impl FnOnce() -> Option<V>,
) -> Option<V>
where
    K: Eq + Hash + Borrow<Q>,
    Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
{
    if let Some(&value) = all.read().unwrap_or_else(PoisonError::into_inner).get(key) {
        return Some(value);
    }
    let mut all = all.write().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= most {
        return None;
    }
    let made = make()?;
    all.insert(key.to_owned(), made);
    Some(made)
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
    fn record_i128(&mut self, field: &Field, value: i128) {
        self.put(field, value as f64);
    }
    fn record_u128(&mut self, field: &Field, value: u128) {
        self.put(field, value as f64);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, f64::from(u8::from(value)));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message = Some(value.to_owned());
        }
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
            let name = self.place(attributes.metadata());
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
