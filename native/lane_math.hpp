// Elementary functions of a Lane, in plain arithmetic: every lane at once on a CPU, one number on a GPU.
#pragma once

#include "lanes.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane> WEYL_INLINE Lane maximum(Lane x, Lane y) { return select(x < y, y, x); }
template <class Lane> WEYL_INLINE Lane minimum(Lane x, Lane y) { return select(y < x, y, x); }
template <class Lane> WEYL_INLINE Lane modulus(Lane x) { return maximum(x, Lane(0) - x); }

template <class Lane> WEYL_INLINE constexpr bool is_double() { return sizeof(typename LaneTraits<Lane>::Real) == 8; }

// sum of x^m / (first + 2 m) over m < terms, signs alternating where `alternating`
template <int first, int terms, bool alternating, class Lane> WEYL_INLINE Lane harmonic_series(Lane x) {
    using Real = typename LaneTraits<Lane>::Real;
    Lane sum(0);
    WEYL_UNROLL
    for (int m = terms - 1; m >= 0; --m) {
        sum = sum * x + Lane(Real(alternating && m % 2 ? -1 : 1) / Real(first + 2 * m));
    }
    return sum;
}

// log x for positive normal x: x = 2^e m with m in [1/sqrt 2, sqrt 2], log m = 2 artanh((m - 1) / (m + 1)).
template <class Lane> WEYL_INLINE Lane logarithm(Lane x) {
    using Real = typename LaneTraits<Lane>::Real;
    Lane m, e;
    split_exponent(x, m, e);  // m in [1, 2)
    const auto upper = m > Lane(Real(1.4142135623730951));
    m = select(upper, Lane(Real(0.5)) * m, m);
    e = select(upper, e + Lane(1), e);
    const Lane s = (m - Lane(1)) / (m + Lane(1)), t = s * s;
    const Lane tail = t * harmonic_series<3, is_double<Lane>() ? 11 : 5, false>(t);
    constexpr Real high = is_double<Lane>() ? Real(0.6931471803691238) : Real(0.693145751953125);
    constexpr Real low = is_double<Lane>() ? Real(1.9082149292705877e-10) : Real(1.4286068203094173e-06);
    return e * Lane(high) + (e * Lane(low) + Lane(2) * (s + s * tail));
}

// asinh x for x >= 0, with all digits near 0 and up to the largest number.
template <class Lane> WEYL_INLINE Lane inverse_sinh(Lane x) {
    using Real = typename LaneTraits<Lane>::Real;
    const auto far = x > Lane(power_of_two<Real>(Machine<Real>::mantissa_bits));
    const Lane z = select(far, Lane(1), x), square = z * z;
    const Lane y = z + square / (Lane(1) + square_root(Lane(1) + square));  // e^asinh z - 1
    const Lane u = Lane(1) + y;
    const Lane near = logarithm(select(far, x, u)) + (y - (u - Lane(1))) / u;
    return select(far, logarithm(select(far, x, Lane(1))) + Lane(Real(0.6931471805599453)), near);
}

// atan(y / x) for x, y >= 0 that are not both 0
template <class Lane> WEYL_INLINE Lane arctangent(Lane y, Lane x) {
    using Real = typename LaneTraits<Lane>::Real;
    const auto steep = x < y;
    const Lane top = minimum(x, y), bottom = maximum(x, y);
    const auto wide = top > Lane(Real(0.4142135623730950)) * bottom;  // tan(pi / 8)
    const Lane t = select(wide, top - bottom, top) / select(wide, top + bottom, bottom), square = t * t;
    const Lane small = t * harmonic_series<1, is_double<Lane>() ? 22 : 10, true>(square);
    const Lane angle = select(wide, Lane(Real(0.7853981633974483)) + small, small);
    return select(steep, Lane(Real(1.5707963267948966)) - angle, angle);
}

// e^x for |x| < 700 (double), 87 (float); beyond, the value there
template <class Lane> WEYL_INLINE Lane exponential(Lane x) {
    using Real = typename LaneTraits<Lane>::Real;
    constexpr Real end = is_double<Lane>() ? 700 : 87;
    x = minimum(maximum(x, Lane(-end)), Lane(end));
    const Lane n = round_to_whole(x * Lane(Real(1.4426950408889634)));
    constexpr Real high = is_double<Lane>() ? Real(0.6931471803691238) : Real(0.693145751953125);
    constexpr Real low = is_double<Lane>() ? Real(1.9082149292705877e-10) : Real(1.4286068203094173e-06);
    const Lane r = (x - n * Lane(high)) - n * Lane(low);
    Lane sum(1);
    WEYL_UNROLL
    for (int m = is_double<Lane>() ? 14 : 7; m > 0; --m) sum = Lane(1) + sum * r * Lane(Real(1) / Real(m));
    return scale_by_power(sum, n);
}

// sinh x = (up - down) / 2, with all digits near 0; up and down as they are may share a factor
template <class Lane> WEYL_INLINE Lane sine_hyperbolic(Lane x, Lane up, Lane down) {
    using Real = typename LaneTraits<Lane>::Real;
    const Lane square = x * x;
    Lane series(1);
    WEYL_UNROLL
    for (int m = is_double<Lane>() ? 9 : 5; m > 0; --m) {
        series = Lane(1) + series * square * Lane(Real(1) / Real(2 * m * (2 * m + 1)));
    }
    return select(square < Lane(1), x * series, Lane(Real(0.5)) * (up - down));
}

// x^p for x >= 0 and p > 0
template <class Lane> WEYL_INLINE Lane power(Lane x, Lane p) {
    using Real = typename LaneTraits<Lane>::Real;
    const auto positive = x > Lane(Machine<Real>::smallest_normal);
    return select(positive, exponential(p * logarithm(select(positive, x, Lane(1)))), Lane(0));
}

}  // namespace WEYL_VARIANT
}  // namespace weyl
