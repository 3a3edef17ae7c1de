// Counts the threads whose subgroup built-ins contradict each other.

struct Found {
    threads: atomic<u32>,
    // Threads for which the number of subgroups times the subgroup size is not the workgroup size.
    wrong_sizes: atomic<u32>,
    // Threads whose index does not follow from the subgroup and the lane.
    wrong_threads: atomic<u32>,
    // Threads whose ballot has another number of lanes than the subgroup size.
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
