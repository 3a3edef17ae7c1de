// <simd/simd.h>: all that our kernels need of it is in <metal_stdlib>.
#pragma once
