//! Counts of what a call does, by the `tracing` spans of the backend.

use libtest_mimic::Failed;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

struct Counted {
    name: &'static str,
    count: Arc<AtomicUsize>,
}

impl<S: tracing::Subscriber> Layer<S> for Counted {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() == self.name {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns how many spans with a name `work` begins on this thread.
pub(crate) fn spans(name: &'static str, work: impl FnOnce() -> Result<(), Failed>) -> Result<usize, Failed> {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = tracing_subscriber::registry().with(Counted { name, count: count.clone() });
    tracing::subscriber::with_default(counting, work)?;
    Ok(count.load(Ordering::Relaxed))
}
