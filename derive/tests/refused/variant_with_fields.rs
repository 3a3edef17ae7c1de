use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
enum Shape {
    Point,
    Circle(u32),
}

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
enum Never {}

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
enum Generic<const N: usize> {
    A,
}

fn main() {}
