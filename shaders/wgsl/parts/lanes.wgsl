// Sets of lanes of a subgroup, as bit masks: one word for up to 32 lanes, four words for up to 128.

#if BALLOT_1
alias Lanes = u32;

fn ballot(vote: bool) -> Lanes {
    return subgroupBallot(vote).x;
}

fn lane_count(lanes: Lanes) -> u32 {
    return countOneBits(lanes);
}

fn lanes_below(lane: u32) -> Lanes {
    return (1u << lane) - 1u;
}
#else
alias Lanes = vec4<u32>;

fn ballot(vote: bool) -> Lanes {
    return subgroupBallot(vote);
}

fn lane_count(lanes: Lanes) -> u32 {
    let counts = countOneBits(lanes);
    return counts.x + counts.y + counts.z + counts.w;
}

fn lanes_below(lane: u32) -> Lanes {
    let word = lane >> 5u;
    let part = (1u << (lane & 31u)) - 1u;
    let words = vec4(0u, 1u, 2u, 3u);
    return select(select(vec4(0u), vec4(part), words == vec4(word)), vec4(0xffffffffu), words < vec4(word));
}
#endif
