// The threshold of a selection (`bar`): the known ordered bits of the last key to be selected. `known` masks these
// bits.

const BELOW: u32 = 0u;
const SAME: u32 = 1u;
const ABOVE: u32 = 2u;

// Compares a key with the threshold in the known bits.
fn compared(key: Key, bar: vec4<u32>, known: vec4<u32>) -> u32 {
    var order = SAME;
    for (var word = 0u; word < KEY_WORDS; word++) {
        let bits = ordered_word(key, word) & known[word];
        order = select(order, select(ABOVE, BELOW, bits < bar[word]), bits != bar[word]);
    }
    return order;
}
