// What every file that is compiled once for each instruction set needs: the widest lane, and whether this machine can.
#pragma once

#include "lanes.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

#if defined(WEYL_HAS_PACKS) && defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(WEYL_HAS_PACKS) && defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

#if defined(WEYL_HAS_PACKS)
template <class Real> using LaneOf = Pack<Real, register_bytes / sizeof(Real)>;
#else
template <class Real> using LaneOf = Real;
#endif

static bool supported() {
#if defined(__GNUC__) && defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
#elif defined(__GNUC__) && defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

}  // namespace WEYL_VARIANT
}  // namespace weyl

#define WEYL_JOIN_(a, b) a##b
#define WEYL_JOIN(a, b) WEYL_JOIN_(a, b)
#define WEYL_TEXT_(a) #a
#define WEYL_TEXT(a) WEYL_TEXT_(a)
