//! The command line of [polysort]: sorts files, checks them, and measures and shows the backends.
//!
//! `args` is what can be said, and each command is a module of its own: `sort` (with `argsort` and `top`), `verify`, `devices`,
//! `calibrate`, `bench`, `demo`. They share `files` (what is read), `output` (what is written), `dtype` (from a dtype at run time to a key type),
//! `order`, `backend` and `progress`.
#![forbid(unsafe_code)]

mod args;
mod backend;
mod bench;
mod calibrate;
mod demo;
mod devices;
mod dtype;
mod files;
mod order;
mod output;
mod progress;
mod sort;
mod verify;

use args::{Cli, Command};
use clap::Parser;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// How a command ended that had no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Fine,
    /// A file is not sorted, or a backend gave a wrong answer.
    Failed,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // With stderr closed there is nobody left to tell.
            writeln!(std::io::stderr(), "polysort: {error:#}").ok();
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Sort(args) => sort::sort(&args),
        Command::Argsort(args) => sort::argsort(&args),
        Command::Top(args) => sort::top(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Devices => devices::devices(),
        Command::Calibrate => calibrate::calibrate(),
        Command::Bench(args) => bench::bench(&args),
        Command::Demo(args) => demo::demo(&args),
    }
}

/// Whether whoever reads our output has read enough, which is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe))
}
