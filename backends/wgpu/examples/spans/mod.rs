//! Adds up the time of each `tracing` span of the backend.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// The time of all spans of a name together, and how many they are. Spans of kernels also have the kernel in their name.
type Times = BTreeMap<String, (Duration, u32)>;

/// The name of a span, its begin and its end.
pub(crate) type Interval = (String, Instant, Instant);

static TIMES: Mutex<Times> = Mutex::new(BTreeMap::new());

static INTERVALS: Mutex<Vec<Interval>> = Mutex::new(vec![]);

thread_local! {
    static ENTERED: RefCell<Vec<Instant>> = const { RefCell::new(vec![]) };
}

/// Begins to collect the times of spans, of all threads.
pub(crate) fn collect() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Spans)).expect("it is the first");
}

/// Forgets the times.
pub(crate) fn clear() {
    TIMES.lock().expect("nothing panics while it is locked").clear();
    INTERVALS.lock().expect("nothing panics while it is locked").clear();
}

/// Returns the spans since the last [`clear`], in the order of their ends.
#[allow(dead_code, reason = "each program uses a part")]
pub(crate) fn intervals() -> Vec<Interval> {
    INTERVALS.lock().expect("nothing panics while it is locked").clone()
}

/// Returns the times since the last [`clear`].
#[allow(dead_code, reason = "each program uses a part")]
pub(crate) fn times() -> Times {
    TIMES.lock().expect("nothing panics while it is locked").clone()
}

/// The name of a span, and its kernel.
struct Name(String);

impl Visit for Name {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "kernel" {
            self.0 += " ";
            self.0 += value;
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

struct Spans;

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut name = Name(attributes.metadata().name().into());
        attributes.record(&mut name);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(name);
        }
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        ENTERED.with_borrow_mut(|entered| entered.push(Instant::now()));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let now = Instant::now();
        let entered = ENTERED.with_borrow_mut(Vec::pop).unwrap_or(now);
        let elapsed = now - entered;
        let Some(span) = context.span(id) else { return };
        if let Some(Name(name)) = span.extensions().get() {
            let mut times = TIMES.lock().expect("nothing panics while it is locked");
            let (time, count) = times.entry(name.clone()).or_default();
            *time += elapsed;
            *count += 1;
            INTERVALS.lock().expect("nothing panics while it is locked").push((name.clone(), entered, now));
        }
    }
}
