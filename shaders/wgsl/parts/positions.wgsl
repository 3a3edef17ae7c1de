// Sorts positions of keys by these keys. The keys stay where they are.

var<workgroup> positions: array<u32, TILE>;

// Sorts the first `present` positions by their keys, digit by digit, stably.
fn sort_positions(present: u32) {
    var items: array<u32, KEYS>;
    var moved: array<u32, KEYS>;
    for (var d = 0u; d < sort.digit_count; d++) {
        let digit = digit_at(d);
#repeat item KEYS
            let index = item_index(item, KEYS);
            items[item] = RADIX - 1u;
            if (index < present) {
                moved[item] = positions[index];
                items[item] = digit_of(source_key(moved[item]), digit);
            }
#end
        rank_tile(&items, present, KEYS, true);
#repeat item KEYS
            if (item_index(item, KEYS) < present) {
                positions[items[item]] = moved[item];
            }
#end
        workgroupBarrier();
    }
}

fn counted(i: u32, digit: u32, start: u32, total: u32) {}
