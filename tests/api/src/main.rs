//! Writes the public API of crates as text, one item per line.
//!
//! `polysort-api FOLDER FILE…` reads each FILE, which `rustdoc --output-format json` wrote, and writes `FOLDER/<crate>.txt`.
//! Exit code 3: this program does not read the format of the files, because another version of Rust wrote them.

use anyhow::{Context, Result};
use public_api::Builder;
use rustdoc_types::FORMAT_VERSION;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

fn main() -> Result<ExitCode> {
    let mut paths = env::args_os().skip(1).map(PathBuf::from);
    let folder = paths.next().context("usage: polysort-api FOLDER FILE…")?;
    for path in paths {
        let format = format(&path)?;
        if format != u64::from(FORMAT_VERSION) {
            eprintln!("rustdoc writes format {format}; this program reads format {FORMAT_VERSION}");
            return Ok(ExitCode::from(3));
        }
        let name = path.with_extension("txt").file_name().context("a file has a name")?.to_owned();
        fs::write(folder.join(name), listing(&path)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn format(path: &Path) -> Result<u64> {
    let file = fs::read(path).with_context(|| path.display().to_string())?;
    let all: Value = serde_json::from_slice(&file)?;
    all["format_version"].as_u64().context("no format_version")
}

/// The public items of a crate. Traits that the compiler or a derive implements are left out.
fn listing(path: &Path) -> Result<String> {
    let api = Builder::from_rustdoc_json(path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| path.display().to_string())?;
    let mut listing = String::new();
    for item in api.items() {
        writeln!(listing, "{item}")?;
    }
    Ok(listing)
}
