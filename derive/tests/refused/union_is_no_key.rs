use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
union Word {
    signed: i32,
    unsigned: u32,
}

fn main() {}
