// Prefix sums over the threads of a group.

var<workgroup> sums: array<u32, GROUP>;

// The sum of the values of the threads up to and with `index`, which is this one's. The total is then in the last of the sums; a barrier
// must follow before the next call.
fn sum_up(index: u32, value: u32) -> u32 {
    sums[index] = value;
    workgroupBarrier();
    for (var reach = 1u; reach < GROUP; reach *= 2u) {
        var other = 0u;
        if (index >= reach) {
            other = sums[index - reach];
        }
        workgroupBarrier();
        sums[index] += other;
        workgroupBarrier();
    }
    return sums[index];
}
