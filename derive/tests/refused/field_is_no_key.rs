use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Named {
    number: u32,
    text: &'static str,
    size: u8,
}

fn main() {}
