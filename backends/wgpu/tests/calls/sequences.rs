//! Random sequences of calls, compared with a model of all buffers.
//!
//! A sequence keeps buffers on one device, and for each a vector of the elements that it must have. Each step draws a call, makes it on the
//! device, and changes the vectors with std's stable sort. Wrong calls must return their error, and change nothing:
//!
//! ```text
//! for each step:
//!     draw one of: a call on buffers or slices, a prepared sort to keep, a wrong call,
//!                  command encoders with recordings of kept sorts, their submission, a release of memory
//!     make the call; apply it to the model, recordings when they are submitted
//!     now and then: compare all buffers with the model
//! ```
//!
//! The seed alone determines the steps. `SEED=7 PROGRAM sequences` repeats a sequence, and a failure prints this line and all steps.

mod buffers;
mod modeled;
mod prepared;
mod script;
mod wrong;

use crate::support::{ensure, failed, is_software};
use crate::{open, open_alone};
use buffers::{Buffers, Calls};
use libtest_mimic::Failed;
use polysort_wgpu::wgpu::{CommandBuffer, CommandEncoderDescriptor};
use polysort_wgpu::{DeviceSorter, WgpuBackend, testing};
use prepared::{Recorded, Target};
use script::Script;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The steps of a sequence.
const STEPS: usize = 40;

/// The sequences of a quick run. They have keys of two types: each type has kernels of its own, which take most of the time.
const QUICK: u64 = 3;

/// The sequences of a thorough run, on a software device and on a GPU. From [`QUICK`] on, each has keys of a third type.
const THOROUGH: [u64; 2] = [12, 60];

/// The devices of a sequence.
struct Site {
    backend: WgpuBackend,
    /// Prepares sorts on the device of `backend`.
    sorter: DeviceSorter,
    /// Another device, whose buffers no call on `backend` takes.
    stranger: WgpuBackend,
}

pub(crate) fn random_calls() -> Result<(), Failed> {
    let backend = open()?;
    let site = Site { sorter: testing::sorter(&backend), backend, stranger: open_alone()? };
    if let Some(seed) = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        return sequence(&site, seed);
    }
    let sequences = match polysort_kit::is_thorough() {
        true => THOROUGH[usize::from(!is_software(&site.backend))],
        false => QUICK,
    };
    let started = Instant::now();
    (0..sequences).try_for_each(|seed| sequence(&site, seed))?;
    println!("{} steps in {:.1} s", sequences * STEPS as u64, started.elapsed().as_secs_f32());
    Ok(())
}

/// Runs the sequence of a seed. A failure, also a panic, is returned with the seed and the steps before it.
fn sequence(site: &Site, seed: u64) -> Result<(), Failed> {
    let mut script = Script::new(seed);
    let run = AssertUnwindSafe(|| Sequence::new(site, &mut script, seed)?.run(site, &mut script));
    let why = match catch_unwind(run) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(failed)) => failed.message().unwrap_or_default().to_owned(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            format!("panicked: {}", text.unwrap_or_default())
        }
    };
    Err(format!("{why}\nthe steps so far:\n{}repeat them: SEED={seed} PROGRAM sequences", script.steps()).into())
}

/// The buffers of a sequence, and its recordings that are not submitted yet.
struct Sequence {
    groups: Vec<Box<dyn Calls>>,
    waiting: Vec<Recordings>,
}

/// A command buffer, and its recordings: the group of buffers of each, and what it does to them.
struct Recordings {
    commands: CommandBuffer,
    all: Vec<(usize, Recorded)>,
}

impl Sequence {
    /// Creates the buffers of the sequence of a seed.
    fn new(site: &Site, script: &mut Script, seed: u64) -> Result<Self, Failed> {
        let mut groups: Vec<Box<dyn Calls>> =
            vec![Box::new(Buffers::<u32, u32>::new(site, script)?), Box::new(Buffers::<f32, u64>::new(site, script)?)];
        if seed >= QUICK {
            groups.push(match seed % 3 {
                0 => Box::new(Buffers::<u16, [u32; 3]>::new(site, script)?),
                1 => Box::new(Buffers::<i64, u32>::new(site, script)?),
                _ => Box::new(Buffers::<u128, [u32; 4]>::new(site, script)?),
            });
        }
        Ok(Self { groups, waiting: vec![] })
    }

    fn run(mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        for _ in 0..STEPS {
            script.begin();
            match script.below(16) {
                0..=3 => self.encode(site, script)?,
                4 => {
                    let first = script.below(self.waiting.len() + 1);
                    self.submit_waiting(site, script, first);
                }
                5 => self.drop_waiting(script),
                6 => {
                    script.says("release the memory that is kept".into());
                    site.backend.release().map_err(failed)?;
                }
                _ => {
                    let group = script.below(self.groups.len());
                    self.groups[group].step(site, script)?;
                }
            }
            // A comparison waits for the device, so most steps that follow each other are in its queue together.
            if script.chance(40) {
                self.compare(script)?;
            }
        }
        self.submit_waiting(site, script, 0);
        self.compare(script)
    }

    /// Compares all buffers with the model.
    fn compare(&mut self, script: &mut Script) -> Result<(), Failed> {
        script.says("compare all buffers".into());
        self.groups.iter_mut().try_for_each(|group| group.check())
    }

    /// Records kept sorts into one encoder or several. Submits them in any order, or leaves them to a later step.
    fn encode(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let mut encoders = vec![];
        for _ in 0..script.one(&[1, 1, 2, 3]) {
            let mut encoder = site.backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
            let in_one_pass = script.chance(40);
            script.says(format!("a new encoder{}", if in_one_pass { ", with one pass" } else { "" }));
            let mut all = vec![];
            {
                let mut target = if in_one_pass {
                    Target::Pass(Box::new(encoder.begin_compute_pass(&Default::default())))
                } else {
                    Target::Encoder(&mut encoder)
                };
                for _ in 0..1 + script.below(4) {
                    let group = script.below(self.groups.len());
                    let recorded = self.groups[group].record(script, &mut target)?;
                    all.extend(recorded.into_iter().map(|recorded| (group, recorded)));
                }
            }
            encoders.push(Recordings { commands: encoder.finish(), all });
        }
        let first = self.waiting.len();
        self.waiting.extend(encoders);
        if !script.chance(25) {
            self.submit_waiting(site, script, first);
        }
        Ok(())
    }

    /// Submits command buffers from index `first` on: in their order, in the opposite one, or all at once.
    fn submit_waiting(&mut self, site: &Site, script: &mut Script, first: usize) {
        let mut submitted = self.waiting.split_off(first);
        let (reversed, at_once) = (script.chance(40), script.chance(50));
        if reversed {
            submitted.reverse();
        }
        script.says(format!("submit {} encoders, reversed: {reversed}, at once: {at_once}", submitted.len()));
        let mut commands = vec![];
        for recordings in submitted {
            recordings.all.iter().for_each(|(group, recorded)| self.groups[*group].apply(recorded));
            commands.push(recordings.commands);
            if !at_once {
                site.backend.queue().submit(commands.drain(..));
            }
        }
        site.backend.queue().submit(commands);
    }

    fn drop_waiting(&mut self, script: &mut Script) {
        let (dropped, of) = (script.below(self.waiting.len()), self.waiting.len());
        if dropped < of {
            script.says(format!("drop encoder {dropped} of {of} that are not submitted"));
            drop(self.waiting.remove(dropped));
        }
    }
}

/// Fails unless a call has the expected result: `Ok`, or the beginning of the text of an error.
fn comes_out<T: core::fmt::Debug>(result: Result<T, polysort_core::Error>, expected: &str) -> Result<(), Failed> {
    let found = match result {
        Ok(_) => "Ok".into(),
        Err(error) => format!("{error:?}"),
    };
    ensure(found.starts_with(expected), || format!("the call returned {found} instead of {expected}"))
}
