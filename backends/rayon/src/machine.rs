//! What the machine is like: its caches, and whose processor it is. Asked once.

use std::sync::OnceLock;

/// Sizes of caches, in bytes, and the maker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// The second level of one core.
    pub(crate) l2: usize,
    /// The last level of all cores.
    pub(crate) l3: usize,
    /// Whether Intel makes the processor.
    pub(crate) is_intel: bool,
}

/// What is assumed where nothing can be asked, or the answer makes no sense.
const USUAL: Machine = Machine { l2: 1 << 20, l3: 32 << 20, is_intel: false };

impl Machine {
    /// This machine.
    pub(crate) fn this() -> Self {
        static THIS: OnceLock<Machine> = OnceLock::new();
        *THIS.get_or_init(|| Self { is_intel: is_intel(), ..Self::of(caches()) })
    }

    /// The machine with caches of these levels and sizes, as far as they are plausible.
    fn of(caches: impl IntoIterator<Item = (u8, usize)>) -> Self {
        let mut machine = USUAL;
        for (level, bytes) in caches {
            match (level, bytes) {
                (2, 0x2_0000..=0x200_0000) => machine.l2 = bytes,
                (3.., 0x10_0000..=0xffff_ffff) => machine.l3 = bytes,
                _ => {}
            }
        }
        machine
    }
}

/// Level and size of each cache, as the processor tells.
#[cfg(target_arch = "x86_64")]
fn caches() -> Vec<(u8, usize)> {
    let parameters = raw_cpuid::CpuId::new().get_cache_parameters();
    let size = |cache: &raw_cpuid::CacheParameter| {
        cache.associativity() * cache.physical_line_partitions() * cache.coherency_line_size() * cache.sets()
    };
    parameters.into_iter().flatten().map(|cache| (cache.level(), size(&cache))).collect()
}

/// Level and size of each cache of the first core, as Linux tells.
#[cfg(not(target_arch = "x86_64"))]
fn caches() -> Vec<(u8, usize)> {
    let read = |index: usize, file: &str| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}")).ok()?;
        Some(text.trim().to_string())
    };
    let cache = |index: usize| {
        let bytes = read(index, "size")?.strip_suffix('K')?.parse::<usize>().ok()? << 10;
        Some((read(index, "level")?.parse().ok()?, bytes))
    };
    (0..8).filter_map(cache).collect()
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    raw_cpuid::CpuId::new().get_vendor_info().is_some_and(|vendor| vendor.as_str() == "GenuineIntel")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_make_no_sense_are_not_believed() {
        assert_eq!(Machine::of([]), USUAL);
        assert_eq!(Machine::of([(1, 32 << 10), (2, 2 << 20), (3, 300 << 20)]), Machine { l2: 2 << 20, l3: 300 << 20, ..USUAL });
        assert_eq!(Machine::of([(2, 0), (3, 4 << 10)]), USUAL);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn the_maker_is_the_one_that_the_system_names() {
        let text = std::fs::read_to_string("/proc/cpuinfo").expect("a text about the processor");
        assert_eq!(Machine::this().is_intel, text.contains("GenuineIntel"));
    }

    #[test]
    fn this_machine_has_caches() {
        let this = Machine::this();
        assert!(this.l2 >= 128 << 10 && this.l3 >= 1 << 20, "{this:?}");
    }
}
