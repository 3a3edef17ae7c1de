// A value is VALUE_WORDS words of 32 bits.

#if VALUE_1
alias Value = u32;
#endif
#if VALUE_2
alias Value = vec2<u32>;
#endif
#if VALUE_3
struct Value {
    x: u32,
    y: u32,
    z: u32,
}
#endif
#if VALUE_4
alias Value = vec4<u32>;
#endif
