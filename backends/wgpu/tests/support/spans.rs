//! Counts of what a call does, by the `tracing` spans of the backend.

use core::cell::Cell;
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

thread_local! {
    /// The name of the spans that [`spans`] counts on this thread, and how many of them the thread has entered.
    static COUNTED: Cell<(Option<&'static str>, usize)> = const { Cell::new((None, 0)) };
}

struct Counted;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Counted {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let (name, count) = COUNTED.get();
        if name.is_some() && context.metadata(id).map(tracing::Metadata::name) == name {
            COUNTED.set((name, count + 1));
        }
    }
}

/// Makes [`spans`] possible. A program calls this before it starts other threads. `tracing` asks its subscribers about a span only once. If one thread enters
/// the span for the first time while another one adds a subscriber, `tracing` may skip this subscriber, and its count is then too low.
pub(crate) fn install() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Counted))
        .expect("the first subscriber of the program");
}

/// Runs `work`, and returns how many spans with a name this thread enters meanwhile.
pub(crate) fn spans<T>(name: &'static str, work: impl FnOnce() -> T) -> (usize, T) {
    COUNTED.set((Some(name), 0));
    let result = work();
    let (_, count) = COUNTED.replace((None, 0));
    (count, result)
}
