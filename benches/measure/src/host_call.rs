//! A call on slices of the host that is repeated.

use crate::input::split_mix;
use crate::times::timed;
use crate::verify::is_stable_order;
use std::time::Duration;

/// What a [`HostCall`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOp {
    /// A sort of keys.
    Keys,
    /// A sort of keys with values.
    Pairs,
    /// An argsort.
    Argsort,
}

/// Slices of `u32` keys that are sorted again and again. Nothing is allocated between the calls, except by an argsort for its result.
#[derive(Clone, Debug)]
pub struct HostCall {
    op: HostOp,
    input: Vec<u32>,
    sorted: Vec<u32>,
    /// The keys to sort.
    pub keys: Vec<u32>,
    /// The index of each key: the values to move with the keys. An argsort replaces them by its result.
    pub values: Vec<u32>,
}

impl HostCall {
    /// Returns pseudo-random keys that `seed` determines.
    pub fn new(op: HostOp, len: usize, seed: u64) -> Self {
        let input: Vec<u32> = (0..len as u64).map(|index| split_mix(index + (seed << 40)) as u32).collect();
        let mut sorted = input.clone();
        sorted.sort_unstable();
        Self { op, keys: input.clone(), values: (0..len as u32).collect(), input, sorted }
    }

    /// Restores the slices, and returns the time of `call`, which gets the operation, the keys and the values.
    ///
    /// # Errors
    /// That of `call`.
    pub fn once<E>(&mut self, call: impl FnOnce(HostOp, &mut [u32], &mut Vec<u32>) -> Result<(), E>) -> Result<Duration, E> {
        self.keys.copy_from_slice(&self.input);
        if self.op == HostOp::Pairs {
            self.values.iter_mut().zip(0..).for_each(|(value, index)| *value = index);
        }
        let (time, called) = timed(|| call(self.op, &mut self.keys, &mut self.values));
        called.map(|()| time)
    }

    /// Whether the last call was right.
    pub fn is_right(&self) -> bool {
        let has_keys = self.op == HostOp::Argsort || self.keys == self.sorted;
        let has_values = self.op == HostOp::Keys
            || self.values.len() == self.input.len()
                && is_stable_order(&self.input, &self.sorted, |&key| key, |i| self.values[i] as usize);
        has_keys && has_values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(op: HostOp, keys: &mut [u32], values: &mut Vec<u32>) -> Result<(), String> {
        if op != HostOp::Keys {
            *values = (0..keys.len() as u32).collect();
            values.sort_by_key(|&index| keys[index as usize]);
        }
        if op != HostOp::Argsort {
            keys.sort_unstable();
        }
        Ok(())
    }

    #[test]
    fn wrong_calls_are_found() -> Result<(), String> {
        for op in [HostOp::Keys, HostOp::Pairs, HostOp::Argsort] {
            let mut call = HostCall::new(op, 1000, 3);
            for _ in 0..2 {
                call.once(sort)?;
                assert!(call.is_right(), "{op:?}");
            }
            call.once(|_, _, _| Ok::<_, String>(()))?;
            // Nothing was sorted: the result of the argsort before is still there.
            assert_eq!(call.is_right(), op == HostOp::Argsort, "{op:?}");
            call.once(|op, keys, values| {
                sort(op, keys, values)?;
                if op == HostOp::Keys {
                    keys[7] ^= 1;
                } else {
                    values.swap(7, 8);
                }
                Ok::<_, String>(())
            })?;
            assert!(!call.is_right(), "{op:?}");
            assert_eq!(call.once(|_, _, _| Err("no")), Err("no"));
        }
        Ok(())
    }
}
