// What one vector register of real numbers can do.
//
// The algorithms in native/ are templates on a Lane type. On a CPU a Lane is a Pack, a register whose lanes hold the
// same entry of several matrices; a plain float or double is a Lane too, of width one: that is what one GPU thread
// uses. Nothing here needs the standard library beyond memcpy, so that the header also compiles at run time for GPUs.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define WEYL_INLINE __host__ __device__ __forceinline__
#define WEYL_FUNCTION __host__ __device__
#elif defined(__GNUC__)
#define WEYL_INLINE inline __attribute__((always_inline))
#define WEYL_FUNCTION
#else
#define WEYL_INLINE inline
#define WEYL_FUNCTION
#endif

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#define WEYL_INTERLEAVE _Pragma("GCC unroll 8")  // rounds whose operations can overlap: the compiler would not see it
#else
#define WEYL_INTERLEAVE WEYL_UNROLL
#endif

#if !defined(WEYL_UNROLL)
#define WEYL_UNROLL  // a CPU compiler decides for itself; weyl/kernels/cuda.py defines it for the GPU
#endif

#if !defined(__CUDACC_RTC__)
#include <cmath>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#endif

// The same source is compiled once for each instruction set. Each copy lives in a namespace of its own: otherwise
// the linker would merge equally named templates and could keep the one that this machine cannot execute.
#ifndef WEYL_VARIANT
#define WEYL_VARIANT portable
#endif

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Real> struct Machine;

template <> struct Machine<float> {
    using Bits = unsigned int;
    using Integer = int;
    static constexpr int mantissa_bits = 23, largest_exponent = 127;
    static constexpr float epsilon = 1.1920929e-07f, smallest_normal = 1.17549435e-38f, largest = 3.4028235e38f;
};

template <> struct Machine<double> {
    using Bits = unsigned long long;
    using Integer = long long;
    static constexpr int mantissa_bits = 52, largest_exponent = 1023;
    static constexpr double epsilon = 2.220446049250313e-16, smallest_normal = 2.2250738585072014e-308;
    static constexpr double largest = 1.7976931348623157e308;
};

// 2^exponent, for exponents of normal numbers
template <class Real> WEYL_INLINE Real power_of_two(int exponent) {
    using Bits = typename Machine<Real>::Bits;
    const Bits bits = static_cast<Bits>(exponent + Machine<Real>::largest_exponent) << Machine<Real>::mantissa_bits;
    Real value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// e with 2^e <= |x| < 2^(e+1); zero and subnormal numbers count as just below the smallest normal one
template <class Real> WEYL_INLINE int exponent_of(Real x) {
    using Bits = typename Machine<Real>::Bits;
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    return static_cast<int>((bits << 1) >> (Machine<Real>::mantissa_bits + 1)) - Machine<Real>::largest_exponent;
}

// x = m 2^e with 1 <= m < 2, for positive normal x
template <class Real> WEYL_INLINE void split_exponent(Real x, Real& m, Real& e) {
    using Bits = typename Machine<Real>::Bits;
    const int exponent = exponent_of(x);
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= static_cast<Bits>(exponent) << Machine<Real>::mantissa_bits;
    memcpy(&m, &bits, sizeof bits);
    e = Real(exponent);
}

// x 2^n for a whole n in the range of exponents
template <class Real> WEYL_INLINE Real scale_by_power(Real x, Real n) { return x * power_of_two<Real>(int(n)); }

// the nearest whole number to an x below 2^20
template <class Real> WEYL_INLINE Real round_to_whole(Real x) {
    return Real(static_cast<int>(x + (x < 0 ? Real(-0.5) : Real(0.5))));
}

// 2^-e for 2^e <= x < 2^(e+1); 0 and what is near it count as the smallest number that has an inverse
template <class Real> WEYL_INLINE Real inverse_power_of_two(Real x) {
    const int exponent = exponent_of(x), bound = Machine<Real>::largest_exponent - 2;
    return power_of_two<Real>(exponent < -bound ? bound : exponent > bound ? -bound : -exponent);
}

// ---- one lane: plain numbers

template <class Lane> struct LaneTraits {
    using Real = Lane;
    static constexpr int width = 1;
};

WEYL_INLINE float square_root(float x) { return sqrtf(x); }
WEYL_INLINE double square_root(double x) { return sqrt(x); }
// 1/sqrt x and 1/x, to about the last digit; on a GPU without the detours that the last half digit takes
#if defined(__CUDA_ARCH__)
WEYL_INLINE float inverse_root(float x) {
    const float y = rsqrtf(x);
    return y * (1.5f - 0.5f * x * y * y);
}
WEYL_INLINE double inverse_root(double x) { return rsqrt(x); }
WEYL_INLINE float inverse(float x) { return __fdividef(1.0f, x); }
WEYL_INLINE double inverse(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = y * (2.0 - x * y);
    return y * (2.0 - x * y);
}
#else
WEYL_INLINE float inverse_root(float x) { return 1 / square_root(x); }
WEYL_INLINE double inverse_root(double x) { return 1 / square_root(x); }
WEYL_INLINE float inverse(float x) { return 1 / x; }
WEYL_INLINE double inverse(double x) { return 1 / x; }
#endif
WEYL_INLINE float select(bool mask, float yes, float no) { return mask ? yes : no; }
WEYL_INLINE double select(bool mask, double yes, double no) { return mask ? yes : no; }
WEYL_INLINE bool any(bool mask) { return mask; }
WEYL_INLINE float get_lane(float x, int) { return x; }
WEYL_INLINE double get_lane(double x, int) { return x; }
WEYL_INLINE void set_lane(float& x, int, float value) { x = value; }
WEYL_INLINE void set_lane(double& x, int, double value) { x = value; }

// ---- many lanes: a vector register (GCC and Clang; other compilers work with one lane)

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#define WEYL_HAS_PACKS 1

template <class Integer, int width> struct Mask {  // all bits of a lane set: true
    typedef Integer Register __attribute__((vector_size(width * sizeof(Integer))));
    Register lanes;

    friend WEYL_INLINE Mask operator&(Mask x, Mask y) { return {x.lanes & y.lanes}; }

    friend WEYL_INLINE bool any(Mask mask) {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) return _mm512_test_epi64_mask((__m512i)mask.lanes, (__m512i)mask.lanes) != 0;
#elif defined(__AVX2__)
        if constexpr (sizeof(Register) == 32) return !_mm256_testz_si256((__m256i)mask.lanes, (__m256i)mask.lanes);
#endif
        constexpr int words = sizeof(Register) / sizeof(long long);
        long long word[words], joined = 0;
        memcpy(word, &mask.lanes, sizeof word);
        for (int i = 0; i < words; ++i) joined |= word[i];
        return joined != 0;
    }
};

template <class Real_, int width_> struct Pack {
    using Real = Real_;
    static constexpr int width = width_;
    typedef Real Register __attribute__((vector_size(width * sizeof(Real))));
    using Truth = Mask<typename Machine<Real>::Integer, width>;
    Register lanes;

    Pack() = default;
    WEYL_INLINE Pack(Real value) : lanes(value - Register{}) {}
    static WEYL_INLINE Pack from(Register lanes) {
        Pack pack;
        pack.lanes = lanes;
        return pack;
    }

    friend WEYL_INLINE Pack operator+(Pack x, Pack y) { return from(x.lanes + y.lanes); }
    friend WEYL_INLINE Pack operator-(Pack x, Pack y) { return from(x.lanes - y.lanes); }
    friend WEYL_INLINE Pack operator*(Pack x, Pack y) { return from(x.lanes * y.lanes); }
    friend WEYL_INLINE Pack operator/(Pack x, Pack y) { return from(x.lanes / y.lanes); }
    friend WEYL_INLINE Pack operator-(Pack x) { return from(-x.lanes); }
    friend WEYL_INLINE Truth operator<(Pack x, Pack y) { return {x.lanes < y.lanes}; }
    friend WEYL_INLINE Truth operator>(Pack x, Pack y) { return {x.lanes > y.lanes}; }
    friend WEYL_INLINE Truth operator==(Pack x, Pack y) { return {x.lanes == y.lanes}; }
    friend WEYL_INLINE Pack select(Truth truth, Pack yes, Pack no) {
        return from(truth.lanes ? yes.lanes : no.lanes);
    }
    friend WEYL_INLINE Real get_lane(const Pack& x, int lane) { return x.lanes[lane]; }
    friend WEYL_INLINE void set_lane(Pack& x, int lane, Real value) { x.lanes[lane] = value; }
    friend WEYL_INLINE Pack square_root(Pack x) {  // becomes one instruction under -fno-math-errno
        Pack root;
        for (int lane = 0; lane < width; ++lane) root.lanes[lane] = square_root(x.lanes[lane]);
        return root;
    }

    // 1/sqrt x and 1/x to about the last digit, of normal numbers. Where the machine has estimates, Newton's steps from
    // these: square roots and divisions of wide registers take as long as all the rest of a rotation.
    friend WEYL_INLINE Pack inverse_root(Pack x) {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) {
            Pack y, half = Pack(Real(0.5)) * x;
            if constexpr (sizeof(Real) == 4) {
                y.lanes = (Register)_mm512_rsqrt14_ps((__m512)x.lanes);
            } else {
                y.lanes = (Register)_mm512_rsqrt14_pd((__m512d)x.lanes);
                y = y + y * (Pack(Real(0.5)) - half * y * y);
            }
            return y + y * (Pack(Real(0.5)) - half * y * y);
        }
#endif
        return Pack(1) / square_root(x);
    }
    friend WEYL_INLINE Pack inverse(Pack x) {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) {
            Pack y;
            if constexpr (sizeof(Real) == 4) {
                y.lanes = (Register)_mm512_rcp14_ps((__m512)x.lanes);
            } else {
                y.lanes = (Register)_mm512_rcp14_pd((__m512d)x.lanes);
                y = y + y * (Pack(1) - x * y);
            }
            return y + y * (Pack(1) - x * y);
        }
#endif
        return Pack(1) / x;
    }

    // The bits of a register as whole numbers of the same width, for exponents.
    typedef typename Machine<Real>::Integer Integers __attribute__((vector_size(width * sizeof(Real))));
    static constexpr int bits = Machine<Real>::mantissa_bits, bias = Machine<Real>::largest_exponent;

    friend WEYL_INLINE void split_exponent(Pack x, Pack& m, Pack& e) {
        const Integers raw = Integers(x.lanes), exponent = (raw >> bits) - bias;
        m = from(Register(raw - (exponent << bits)));
        e = from(__builtin_convertvector(exponent, Register));
    }
    friend WEYL_INLINE Pack scale_by_power(Pack x, Pack n) {
        return from(x.lanes * Register((__builtin_convertvector(n.lanes, Integers) + bias) << bits));
    }
    friend WEYL_INLINE Pack round_to_whole(Pack x) {
        const Register half = x.lanes < Register{} ? Register{} - Real(0.5) : Register{} + Real(0.5);
        return from(__builtin_convertvector(__builtin_convertvector(x.lanes + half, Integers), Register));
    }
    friend WEYL_INLINE Pack inverse_power_of_two(Pack x) {
        Integers exponent = (Integers(x.lanes) >> bits) - bias;
        const Integers bound = Integers{} + (bias - 2);
        exponent = exponent < -bound ? -bound : exponent > bound ? bound : exponent;
        return from(Register((bias - exponent) << bits));
    }
};

template <class Real_, int width_> struct LaneTraits<Pack<Real_, width_>> {
    using Real = Real_;
    static constexpr int width = width_;
};

#endif

}  // namespace WEYL_VARIANT
}  // namespace weyl
