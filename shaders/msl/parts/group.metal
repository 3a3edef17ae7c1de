// Returns the number of a threadgroup in a launch of two dimensions.
inline uint group_index(uint3 group, uint3 groups) {
    return group.y * groups.x + group.x;
}
