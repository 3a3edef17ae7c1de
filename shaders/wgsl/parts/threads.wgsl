// The numbers of this thread, of its subgroup, and of its lane. The entry point sets them.

var<private> thread: u32;
#if SUBGROUPS
var<private> subgroup: u32;
var<private> lanes: u32;
var<private> lane: u32;
#endif
