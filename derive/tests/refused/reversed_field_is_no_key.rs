use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Named(u32, #[sortable(desc)] [u8; 4]);

fn main() {}
