use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Item {
    score: u32,
    #[sortable(skip)]
    id: u32,
}

fn main() {}
