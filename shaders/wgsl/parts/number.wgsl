// A small number that the host chose when it recorded the launch. It is an entry of a table that is bound with a
// dynamic offset.
struct Number {
    value: u32,
}
