use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Long {
    first: u64,
    second: u64,
    third: bool,
    fourth: u8,
}

fn main() {}
