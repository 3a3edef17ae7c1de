// What every kernel knows of a search.

struct Search {
    queries: u32,
    // Numbers of a vector.
    dimension: u32,
    candidates: u32,
    entries: u32,
    // Slots of all pages, of this one, and before it.
    capacity: u32,
    page_slots: u32,
    page_first: u32,
    // From one vector of the page to the next, in parts: four numbers, if the dimension is a multiple of that, or one.
    stride: u32,
    // How many candidates are selected in all, places that stay empty included.
    selected: u32,
}
