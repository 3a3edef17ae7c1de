use polysort_core::Sortable;

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Tagged<K> {
    tag: u8,
    key: K,
}

fn bits<K: Sortable>(_: K) {}

fn main() {
    bits(Tagged { tag: 1, key: "text" });
}
