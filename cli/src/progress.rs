//! Bars and spinners on stderr, for people only: if stderr is no terminal, nothing is drawn.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// A bar over `total` bytes, or a spinner that counts them if their number is not known. Gone when it is dropped.
pub(crate) fn bytes(what: String, total: Option<u64>) -> ProgressBar {
    let (length, template) = match total {
        Some(_) => (total, "{msg} [{bar:40}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}"),
        None => (None, "{spinner} {msg} {bytes} {binary_bytes_per_sec}"),
    };
    shown(ProgressBar::hidden().with_finish(ProgressFinish::AndClear), length, template).with_message(what)
}

/// Runs `work` beside a spinner.
pub(crate) fn spin<R>(what: String, work: impl FnOnce() -> R) -> R {
    let spinner = shown(ProgressBar::hidden(), None, "{spinner} {msg} {elapsed}").with_message(what);
    spinner.enable_steady_tick(TICK);
    let result = work();
    spinner.finish_and_clear();
    result
}

fn shown(bar: ProgressBar, length: Option<u64>, template: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        return bar;
    }
    if let Some(length) = length {
        bar.set_length(length);
    }
    bar.set_style(ProgressStyle::with_template(template).expect("the templates are ours").progress_chars("=> "));
    bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    bar
}
