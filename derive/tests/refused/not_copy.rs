use polysort_core::Sortable;

#[derive(Sortable)]
#[sortable(crate = polysort_core)]
struct Moved(u32);

fn main() {}
