// The bar of a selection: what is known of the ordered bits of the last key to be selected, and which bits these are.

const BELOW: u32 = 0u;
const SAME: u32 = 1u;
const ABOVE: u32 = 2u;

// How a key compares with the bar in the bits that are known.
fn compared(key: Key, bar: vec4<u32>, known: vec4<u32>) -> u32 {
    var order = SAME;
    for (var word = 0u; word < KEY_WORDS; word++) {
        let bits = ordered_word(key, word) & known[word];
        order = select(order, select(ABOVE, BELOW, bits < bar[word]), bits != bar[word]);
    }
    return order;
}
