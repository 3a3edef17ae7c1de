// What every kernel knows of a search.

struct Search {
    uint queries;
    // Numbers of a vector.
    uint dimension;
    uint candidates;
    uint entries;
    // Slots of all pages, of this one, and before it.
    uint capacity;
    uint page_slots;
    uint page_first;
    // From one vector of the page to the next, in parts: four numbers, if the dimension is a multiple of that, or one.
    uint stride;
    // How many candidates are selected in all, places that stay empty included.
    uint selected;
};
