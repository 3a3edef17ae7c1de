// What a vector search is: the uniform of its kernels.

struct Search {
    uint queries;
    // Numbers per vector.
    uint dimension;
    uint candidates;
    uint entries;
    // The slots of all pages, the slots of the page that is bound, and the slots of the pages before it.
    uint capacity;
    uint page_slots;
    uint page_first;
    // The distance from one vector of the page to the next, in parts. A part is four numbers if the dimension is a
    // multiple of four, else one.
    uint stride;
    // The number of results of all queries, empty ones included.
    uint selected;
};
