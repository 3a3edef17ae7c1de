//! The command line of [polysort], which sorts files, checks them, and measures the backends.
//!
//! `args` lists the commands. Each command has a module of its own, with its arguments: `sort` (with `argsort` and `top`), `limited` (with `merge`, and sorts
//! within a memory cap), `verify`, `devices`, `calibrate`, `bench`, `demo`. Commands share `files` (reading), `output` (writing), `dtype` (key types), `order`,
//! `backend`, `progress`, `message` and `standard` (input and output).
#![deny(unsafe_code)]

mod args;
mod backend;
mod bench;
mod calibrate;
#[cfg(feature = "arrow")]
mod columns;
mod demo;
mod devices;
mod dtype;
mod files;
mod limited;
mod message;
mod order;
mod outcome;
mod output;
mod progress;
mod sort;
mod standard;
mod verify;

use anyhow::Context;
use args::{Cli, Command};
use clap::Parser;
use outcome::Outcome;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// The exit code for wrong arguments, wrong input, and files that cannot be read or written.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let ended = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(usage) if usage.use_stderr() => usage.exit(),
        Err(help) => show(&help),
    };
    match ended {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => end_by_broken_pipe(),
        Err(error) => {
            message::error(&error);
            ExitCode::from(ERROR)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Sort(args) => sort::sort(&args),
        Command::Argsort(args) => sort::argsort(&args),
        Command::Top(args) => sort::top(&args),
        Command::Merge(args) => limited::merge(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Devices => devices::devices(),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Demo(args) => demo::demo(&args),
    }
}

/// Prints the text of `--help` or `--version`.
fn show(text: &clap::Error) -> anyhow::Result<Outcome> {
    standard::check_stdout()?;
    text.print().context("cannot write to standard output")?;
    Ok(Outcome::Fine)
}

/// Whether an error means that the reader of the output has closed the pipe.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe))
}

/// Ends the process by the signal `SIGPIPE`, without a message, like a program that does not handle the signal. A shell reports status 141.
fn end_by_broken_pipe() -> ExitCode {
    #[cfg(unix)]
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE).ok();
    ExitCode::from(ERROR)
}
