// What a vector search is: the uniform of its kernels.

struct Search {
    queries: u32,
    // Numbers per vector.
    dimension: u32,
    candidates: u32,
    entries: u32,
    // The slots of all pages, the slots of the page that is bound, and the slots of the pages before it.
    capacity: u32,
    page_slots: u32,
    page_first: u32,
    // The distance from one vector of the page to the next, in parts. A part is four numbers if the dimension is a
    // multiple of four, else one.
    stride: u32,
    // The number of results of all queries, empty ones included.
    selected: u32,
}
