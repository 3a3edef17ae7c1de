//! Sorts of arrays within a memory cap.

use super::limit::{Limit, explain};
use super::sink::{Convert, Sink};
use crate::dtype::{Dtype, Key, with_key};
use crate::files::{Array, Format, InputArgs, KeyStream, Source, check_writable, write_header, write_keys};
use crate::output::{Output, Writing};
use anyhow::{Context, Result};
use polysort_external::Keys;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sorts an array.
pub(super) fn sort(source: Source, input: &InputArgs, limit: &Limit, output: Output) -> Result<()> {
    let array = Array::open(source, input.columns().dtype)?;
    let (name, dtype, format) = (array.name().to_string(), array.dtype, output.format_or(array.format()));
    check_writable(format, dtype).with_context(|| output.name().to_string())?;
    output.check_terminal(format)?;
    let (keys, mut writing) = (KeyStream::new(array), output.begin());
    let count = keys.count();
    let sorted = with_key!(dtype, K => {
        let mut sorter = limit.sorter(Keys::<K>::new(), &name, Some(size_of::<K>() as u64));
        sorter.sort(keys, sink::<K>(&mut writing, format, dtype, count))
    });
    sorted.map_err(|error| explain(error, &name, &writing))?;
    writing.finish()
}

/// Returns a sink of keys. `count` is the number of keys when the first key comes.
pub(super) fn sink<K: Key>(writing: &mut Writing, format: Format, dtype: Dtype, count: Arc<AtomicU64>) -> Sink<'_> {
    let as_keys: Convert = |bytes, out| write_keys::<K>(out, Format::Bin, &bytemuck::pod_collect_to_vec(bytes));
    let as_text: Convert = |bytes, out| write_keys::<K>(out, Format::Csv, &bytemuck::pod_collect_to_vec(bytes));
    let convert = match format {
        Format::Csv => Some(as_text),
        // The keys have the byte order of this machine, and a file has little-endian ones.
        Format::Npy | Format::Bin => cfg!(target_endian = "big").then_some(as_keys),
    };
    let header = move |out: &mut dyn Write| -> io::Result<()> { write_header(out, format, dtype, count.load(Ordering::Relaxed)) };
    Sink::new(writing, Box::new(header), convert)
}
