//! Progress bars and spinners on standard error. They are drawn only if standard error is a terminal.

use crate::message::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// Time between two frames of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// Returns a bar over `total` bytes, or a spinner with a byte counter if the total is not known. Dropping it clears it.
pub(crate) fn bytes(what: &str, total: Option<u64>) -> ProgressBar {
    let (length, template) = match total {
        Some(_) => (total, "{msg} [{bar:40}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}"),
        None => (None, "{spinner} {msg} {bytes} {binary_bytes_per_sec}"),
    };
    drawn(ProgressBar::hidden().with_finish(ProgressFinish::AndClear), length, template)
        .with_message(printable(what).into_owned())
}

/// Returns a bar over `total` bytes or rows, as [`bytes`] does for bytes.
pub(crate) fn of(what: &str, total: Option<u64>, are_bytes: bool) -> ProgressBar {
    if are_bytes {
        return bytes(what, total);
    }
    let template = match total {
        Some(_) => "{msg} [{bar:40}] {pos}/{len} rows {eta}",
        None => "{spinner} {msg} {pos} rows",
    };
    drawn(ProgressBar::hidden().with_finish(ProgressFinish::AndClear), total, template).with_message(printable(what).into_owned())
}

/// Runs `work` while a spinner is shown.
pub(crate) fn spin<R>(what: String, work: impl FnOnce() -> R) -> R {
    let spinner = drawn(ProgressBar::hidden(), None, "{spinner} {msg} {elapsed}").with_message(what);
    spinner.enable_steady_tick(TICK);
    let result = work();
    spinner.finish_and_clear();
    result
}

fn drawn(bar: ProgressBar, length: Option<u64>, template: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        return bar;
    }
    if let Some(length) = length {
        bar.set_length(length);
    }
    bar.set_style(ProgressStyle::with_template(template).expect("the templates of this file are valid").progress_chars("=> "));
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar
}
