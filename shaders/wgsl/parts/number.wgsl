// A small number that the host chose when it recorded the launch: an entry of a table, bound by a dynamic offset.
struct Number {
    value: u32,
}
