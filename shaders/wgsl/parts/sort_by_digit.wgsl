// Sorts the keys that a workgroup holds in registers by one digit, stably. If values move, the keys' positions move
// with them. The new order goes through `board`, one word of all keys at a time. Items from `present` on get the
// largest digit, so that they stay behind the keys.

fn sort_by_digit(
    keys: ptr<function, array<Key, KEYS>>,
#if VALUES
    positions: ptr<function, array<u32, KEYS>>,
#endif
    present: u32,
    held: u32,
    digit: Digit,
) {
    var items: array<u32, KEYS>;
#repeat item KEYS
        if (item < held) {
            items[item] = select(RADIX - 1u, digit_of((*keys)[item], digit), item_index(item, held) < present);
        }
#end
    rank_tile(&items, present, held, true);
    for (var word = 0u; word < KEY_WORDS; word++) {
#repeat item KEYS
            if (item < held) {
                put_word(items[item], key_word((*keys)[item], word));
            }
#end
        workgroupBarrier();
#repeat item KEYS
            if (item < held) {
                (*keys)[item] = with_word((*keys)[item], word, word_at(item_index(item, held)));
            }
#end
        workgroupBarrier();
    }
#if VALUES
#repeat item KEYS
        if (item < held) {
            put_word(items[item], (*positions)[item]);
        }
#end
    workgroupBarrier();
#repeat item KEYS
        if (item < held) {
            (*positions)[item] = word_at(item_index(item, held));
        }
#end
    workgroupBarrier();
#endif
}

fn counted(i: u32, digit: u32, start: u32, total: u32) {}
