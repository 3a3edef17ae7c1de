//! Benchmarks of polysort and its peers; `README.md` says how to run them and what the records hold.
#![forbid(unsafe_code)]
