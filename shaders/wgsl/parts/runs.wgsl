// What begins a run, and the status words of the tiles in which runs are sought.
//
// A run begins at each key that differs from the key before it in the bits that the order compares, and at the first
// key. `status` has two words for each tile. Their two top bits are a flag:
//
//   0           nothing is published yet
//   AGGREGATE   the words are of this tile
//   INCLUSIVE   the words are of this tile and of all tiles before it
//
// The other bits of the first word are the number of runs that begin there. Those of the second word are the index of
// the last key that begins a run there, plus 1; they are 0 if no run begins there.

const AGGREGATE: u32 = 1u << 30u;
const INCLUSIVE: u32 = 2u << 30u;
const COUNT: u32 = AGGREGATE - 1u;
const STATUS_WORDS: u32 = 2u;
