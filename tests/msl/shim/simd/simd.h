// <simd/simd.h>: <metal_stdlib> has everything that the kernels need of it.
#pragma once
