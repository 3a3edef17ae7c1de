//! `--report`: a page of figures, of a run or of records.

use super::args::BenchArgs;
use crate::message::note;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::standard::stdout;
use anyhow::{Context, Result, bail};
use chrono::Utc;
use polysort::{AnyBackend, Backend};
use polysort_measure::{By, Row};
use polysort_report::{Collection, Origin, Page, Record};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// The name of a page in its folder.
const NAME: &str = "index.html";

/// The bytes at the start of a page in which its mark is.
const HEAD_BYTES: u64 = 1 << 12;

/// Makes the folder of a page, and checks that the page can be written. Only a page of an earlier report is replaced.
pub(super) fn open(folder: &Path) -> Result<Output> {
    let context = || format!("cannot make the folder {}: name another one with --report", folder.display());
    fs::create_dir_all(folder).with_context(context)?;
    let path = folder.join(NAME);
    if path.is_file() {
        let mut head = vec![];
        let file = File::open(&path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
        file.with_context(|| format!("cannot read {}", path.display()))?;
        if !Page::is_report(&String::from_utf8_lossy(&head)) {
            bail!("{} is not a report, and is left as it is: name another folder with --report", path.display());
        }
    }
    Output::open(Some(&path))
}

/// Writes the page of records.
pub(super) fn of_records(folder: &Path, paths: &[PathBuf], by: By) -> Result<Outcome> {
    let Collection { records, older, others } = Collection::read(paths)?;
    let page = Page { title: "Benchmarks of polysort", records: &records, older: &older, by, notes: &others, has_results: false };
    let html = page.html()?;
    let output = open(folder)?;
    for other in &others {
        note(other);
    }
    let name = output.name().to_string();
    output.write(Some(html.len() as u64), |out| out.write_all(html.as_bytes()))?;
    writeln!(stdout()?, "{name}: records drawn: {}, older ones left out: {}", records.len(), older.len())?;
    Ok(Outcome::Fine)
}

/// Writes the page of a run. `rows` are those of its record, and `failures` has a sentence for each system without a result.
pub(super) fn of_run(
    output: Output,
    rows: Vec<Row>,
    failures: &[String],
    backends: &[&AnyBackend],
    args: &BenchArgs,
) -> Result<()> {
    let cores = available_parallelism().map_or_else(|_| "an unknown number of".into(), |cores| cores.to_string());
    let processor = processor().unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH));
    let machine = format!("{processor}, {cores} threads");
    let mut text = format!("polysort {}\n{}\n", env!("CARGO_PKG_VERSION"), command(std::env::args_os()));
    text += &format!("{machine}, {}\n", std::env::consts::OS);
    for backend in backends {
        text += &format!("{}: {}\n", backend.kind(), backend.name());
    }
    let file = args.csv.as_deref().filter(|path| *path != Path::new("-"));
    let origin = Origin {
        name: file.map_or_else(|| "of this run".into(), |path| path.display().to_string()),
        kind: "bench".into(),
        date: Some(Utc::now().format("%Y-%m-%d").to_string()),
        ordinal: 1,
        machine,
        text,
    };
    let records = [Record { origin, rows }];
    let page = Page {
        title: "polysort bench",
        records: &records,
        older: &[],
        by: args.statistic.by(),
        notes: failures,
        has_results: true,
    };
    let html = page.html()?;
    output.write(Some(html.len() as u64), |out| out.write_all(html.as_bytes()))
}

/// Returns the command line. An argument with spaces is in quotes.
fn command(args: impl Iterator<Item = impl AsRef<OsStr>>) -> String {
    let quoted = |arg: &str| if arg.contains(char::is_whitespace) { format!("'{arg}'") } else { arg.to_string() };
    let rest: Vec<String> = args.skip(1).map(|arg| quoted(&arg.as_ref().to_string_lossy())).collect();
    format!("polysort {}", rest.join(" "))
}

/// Returns the name of the processor, if the system lists it in a file.
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_repeated() {
        let args = ["/usr/bin/polysort", "bench", "--report", "my folder", "--sizes=2^10"];
        assert_eq!(command(args.into_iter()), "polysort bench --report 'my folder' --sizes=2^10");
    }
}
