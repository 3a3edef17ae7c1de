// The vector types of <metal_stdlib>, which includes this file after it has defined MSL_INLINE.
#pragma once

namespace metal {

template <class T, int N>
struct vec;

#define MSL_VECTOR_BODY(N)                                                                                                                 \
    vec() = default;                                                                                                                       \
    MSL_INLINE T &operator[](uint i) { return reinterpret_cast<T *>(this)[i]; }                                                            \
    MSL_INLINE const T &operator[](uint i) const { return reinterpret_cast<const T *>(this)[i]; }                                          \
    template <class U>                                                                                                                     \
    MSL_INLINE explicit vec(vec<U, N> other) {                                                                                             \
        for (uint i = 0; i < N; i++) (*this)[i] = T(other[i]);                                                                             \
    }

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    MSL_VECTOR_BODY(2)
    MSL_INLINE vec(T all) : x(all), y(all) {}
    MSL_INLINE vec(T a, T b) : x(a), y(b) {}
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
    T x, y, z;
    MSL_VECTOR_BODY(3)
    MSL_INLINE vec(T all) : x(all), y(all), z(all) {}
    MSL_INLINE vec(T a, T b, T c) : x(a), y(b), z(c) {}
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    MSL_VECTOR_BODY(4)
    MSL_INLINE vec(T all) : x(all), y(all), z(all), w(all) {}
    MSL_INLINE vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    MSL_INLINE vec(vec<T, 2> low, vec<T, 2> high) : x(low.x), y(low.y), z(high.x), w(high.y) {}
};

// Half precision in memory. The only operation is the exact conversion to float.
struct half {
    uint16_t bits;
    half() = default;
    MSL_INLINE explicit operator float() const {
        uint sign = uint(bits >> 15) << 31, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff, whole;
        if (exponent == 0) {
            // Zero, or a multiple of 2 to the -24th.
            float small = float(int(fraction)) * 0x1p-24f;
            __builtin_memcpy(&whole, &small, sizeof whole);
        } else {
            whole = (exponent == 0x1f ? 0xff : exponent + 112) << 23 | fraction << 13;
        }
        whole |= sign;
        float value;
        __builtin_memcpy(&value, &whole, sizeof value);
        return value;
    }
};

// Vectors that are aligned to their element only.
template <int N>
struct packed {
    uint words[N];
    packed() = default;
    MSL_INLINE packed(vec<uint, N> from) {
        for (uint i = 0; i < N; i++) words[i] = from[i];
    }
    MSL_INLINE operator vec<uint, N>() const {
        vec<uint, N> to;
        for (uint i = 0; i < N; i++) to[i] = words[i];
        return to;
    }
    MSL_INLINE uint &operator[](uint i) { return words[i]; }
    MSL_INLINE const uint &operator[](uint i) const { return words[i]; }
};
template <>
struct packed<3> {
    uint x, y, z;
    packed() = default;
    MSL_INLINE packed(uint a, uint b, uint c) : x(a), y(b), z(c) {}
    MSL_INLINE packed(vec<uint, 3> from) : x(from.x), y(from.y), z(from.z) {}
    MSL_INLINE operator vec<uint, 3>() const { return vec<uint, 3>(x, y, z); }
    MSL_INLINE uint &operator[](uint i) { return reinterpret_cast<uint *>(this)[i]; }
    MSL_INLINE const uint &operator[](uint i) const { return reinterpret_cast<const uint *>(this)[i]; }
};
using packed_uint2 = packed<2>;
using packed_uint3 = packed<3>;
using packed_uint4 = packed<4>;

// The compiler deduces `T` from the vector alone, so the scalar may have any type that converts to `T`.
template <class T>
struct same {
    using type = T;
};

#define MSL_OPERATOR(op)                                                                                                                   \
    template <class T, int N>                                                                                                              \
    MSL_INLINE vec<T, N> operator op(vec<T, N> a, vec<T, N> b) {                                                                           \
        for (uint i = 0; i < N; i++) a[i] = T(a[i] op b[i]);                                                                               \
        return a;                                                                                                                          \
    }                                                                                                                                      \
    template <class T, int N>                                                                                                              \
    MSL_INLINE vec<T, N> operator op(vec<T, N> a, typename same<T>::type b) {                                                              \
        return a op vec<T, N>(b);                                                                                                          \
    }                                                                                                                                      \
    template <class T, int N>                                                                                                              \
    MSL_INLINE vec<T, N> operator op(typename same<T>::type a, vec<T, N> b) {                                                              \
        return vec<T, N>(a) op b;                                                                                                          \
    }                                                                                                                                      \
    template <class T, int N, class U>                                                                                                     \
    MSL_INLINE vec<T, N> &operator op##=(vec<T, N> &a, U b) {                                                                              \
        return a = a op b;                                                                                                                 \
    }
MSL_OPERATOR(+)
MSL_OPERATOR(-)
MSL_OPERATOR(*)
MSL_OPERATOR(/)
MSL_OPERATOR(%)
MSL_OPERATOR(&)
MSL_OPERATOR(|)
MSL_OPERATOR(^)
MSL_OPERATOR(<<)
MSL_OPERATOR(>>)
#undef MSL_OPERATOR

#define MSL_COMPARISON(op)                                                                                                                 \
    template <class T, int N>                                                                                                              \
    MSL_INLINE vec<bool, N> operator op(vec<T, N> a, vec<T, N> b) {                                                                        \
        vec<bool, N> result;                                                                                                               \
        for (uint i = 0; i < N; i++) result[i] = a[i] op b[i];                                                                             \
        return result;                                                                                                                     \
    }                                                                                                                                      \
    template <class T, int N>                                                                                                              \
    MSL_INLINE vec<bool, N> operator op(vec<T, N> a, typename same<T>::type b) {                                                           \
        return a op vec<T, N>(b);                                                                                                          \
    }
MSL_COMPARISON(==)
MSL_COMPARISON(!=)
MSL_COMPARISON(<)
MSL_COMPARISON(>)
MSL_COMPARISON(<=)
MSL_COMPARISON(>=)
#undef MSL_COMPARISON

template <class T, int N>
MSL_INLINE vec<T, N> operator~(vec<T, N> a) {
    for (uint i = 0; i < N; i++) a[i] = T(~a[i]);
    return a;
}

template <int N>
MSL_INLINE vec<bool, N> operator!(vec<bool, N> a) {
    for (uint i = 0; i < N; i++) a[i] = !a[i];
    return a;
}

template <int N>
MSL_INLINE bool all(vec<bool, N> a) {
    bool result = true;
    for (uint i = 0; i < N; i++) result = result && a[i];
    return result;
}

template <int N>
MSL_INLINE bool any(vec<bool, N> a) {
    bool result = false;
    for (uint i = 0; i < N; i++) result = result || a[i];
    return result;
}

#define MSL_VECTORS(T)                                                                                                                     \
    using T##2 = vec<T, 2>;                                                                                                                \
    using T##3 = vec<T, 3>;                                                                                                                \
    using T##4 = vec<T, 4>;
MSL_VECTORS(bool)
MSL_VECTORS(uchar)
MSL_VECTORS(ushort)
MSL_VECTORS(uint)
MSL_VECTORS(ulong)
MSL_VECTORS(int)
MSL_VECTORS(float)
using half2 = vec<half, 2>;
#undef MSL_VECTORS

} // namespace metal
