use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Field {
    #[sortable(reverse)]
    score: u32,
}

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Twice(#[sortable(desc, desc)] u32);

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core, desc)]
struct Whole(u32);

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core, packed)]
struct Packed(u32);

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
enum Variant {
    A,
    #[sortable(desc)]
    B,
}

fn main() {}
