// Asks each thread whether its subgroup is what it says it is.

struct Found {
    threads: atomic<u32>,
    // Threads in whose group the subgroups do not add up to the group.
    wrong_sizes: atomic<u32>,
    // Threads whose number is not that of their lane and subgroup.
    wrong_threads: atomic<u32>,
    // Threads whose subgroup has other lanes than it says.
    wrong_ballots: atomic<u32>,
    smallest: atomic<u32>,
    largest: atomic<u32>,
}

@group(0) @binding(0) var<storage, read_write> found: Found;

@compute @workgroup_size(GROUP)
fn subgroups(
    @builtin(local_invocation_index) thread: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) lanes: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let votes = countOneBits(subgroupBallot(true));
    atomicAdd(&found.threads, 1u);
    atomicAdd(&found.wrong_sizes, select(0u, 1u, subgroups * lanes != GROUPu));
    atomicAdd(&found.wrong_threads, select(0u, 1u, subgroup * lanes + lane != thread));
    atomicAdd(&found.wrong_ballots, select(0u, 1u, votes.x + votes.y + votes.z + votes.w != lanes));
    atomicMin(&found.smallest, lanes);
    atomicMax(&found.largest, lanes);
}
