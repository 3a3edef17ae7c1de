// Which thread this is.

var<private> thread: u32;
#if SUBGROUPS
var<private> subgroup: u32;
var<private> lanes: u32;
var<private> lane: u32;
#endif
