// Prefix sums over the threads of a workgroup.

var<workgroup> sums: array<u32, GROUP>;

// Returns the sum of the values of the threads up to this one, whose number is `index`, with its own. The last of
// `sums` is then the total. The caller needs a barrier before the next call.
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
