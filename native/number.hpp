// A real or complex number in every lane: the entries of the matrices, with the few operations they need.
#pragma once

#include "lanes.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane, bool is_complex> struct Number;

template <class Lane> struct Number<Lane, false> {
    using Scalar = Lane;
    Lane re;

    static WEYL_INLINE Number from(Lane real) { return {real}; }
    friend WEYL_INLINE Number operator+(Number x, Number y) { return {x.re + y.re}; }
    friend WEYL_INLINE Number operator-(Number x, Number y) { return {x.re - y.re}; }
    friend WEYL_INLINE Number operator*(Number x, Number y) { return {x.re * y.re}; }
    friend WEYL_INLINE Number operator*(Lane c, Number x) { return {c * x.re}; }
    friend WEYL_INLINE Number multiply_add(Number sum, Number x, Number y) { return {sum.re + x.re * y.re}; }
    friend WEYL_INLINE Number multiply_subtract(Number sum, Number x, Number y) { return {sum.re - x.re * y.re}; }
    friend WEYL_INLINE Number conjugate(Number x) { return x; }
    friend WEYL_INLINE Number operator-(Number x) { return {Lane(0) - x.re}; }
    friend WEYL_INLINE Lane squared_modulus(Number x) { return x.re * x.re; }
    friend WEYL_INLINE Lane multiply_add_modulus(Lane sum, Number x) { return sum + x.re * x.re; }
    friend WEYL_INLINE Lane largest_part(Number x) { return select(x.re < Lane(0), Lane(0) - x.re, x.re); }
    template <class Truth> friend WEYL_INLINE Number choose(Truth truth, Number yes, Number no) {
        return {select(truth, yes.re, no.re)};
    }
};

template <class Lane> struct Number<Lane, true> {
    using Scalar = Lane;
    Lane re, im;

    static WEYL_INLINE Number from(Lane real) { return {real, Lane(0)}; }
    friend WEYL_INLINE Number operator+(Number x, Number y) { return {x.re + y.re, x.im + y.im}; }
    friend WEYL_INLINE Number operator-(Number x, Number y) { return {x.re - y.re, x.im - y.im}; }
    friend WEYL_INLINE Number operator*(Number x, Number y) {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
    friend WEYL_INLINE Number operator*(Lane c, Number x) { return {c * x.re, c * x.im}; }
    // sum + xy and sum - xy, in this order: two fused operations a part, where sum + (xy) would take three
    friend WEYL_INLINE Number multiply_add(Number sum, Number x, Number y) {
        return {sum.re + x.re * y.re - x.im * y.im, sum.im + x.re * y.im + x.im * y.re};
    }
    friend WEYL_INLINE Number multiply_subtract(Number sum, Number x, Number y) {
        return {sum.re - x.re * y.re + x.im * y.im, sum.im - x.re * y.im - x.im * y.re};
    }
    friend WEYL_INLINE Number conjugate(Number x) { return {x.re, -x.im}; }
    friend WEYL_INLINE Number operator-(Number x) { return {Lane(0) - x.re, Lane(0) - x.im}; }
    friend WEYL_INLINE Lane squared_modulus(Number x) { return x.re * x.re + x.im * x.im; }
    friend WEYL_INLINE Lane multiply_add_modulus(Lane sum, Number x) { return sum + x.re * x.re + x.im * x.im; }
    friend WEYL_INLINE Lane largest_part(Number x) {
        const Lane re = select(x.re < Lane(0), Lane(0) - x.re, x.re), im = select(x.im < Lane(0), Lane(0) - x.im, x.im);
        return select(re < im, im, re);
    }
    template <class Truth> friend WEYL_INLINE Number choose(Truth truth, Number yes, Number no) {
        return {select(truth, yes.re, no.re), select(truth, yes.im, no.im)};
    }
};

template <class Lane> WEYL_INLINE auto number_in_lane(const Number<Lane, false>& x, int lane) {
    return Number<typename LaneTraits<Lane>::Real, false>{get_lane(x.re, lane)};
}

template <class Lane> WEYL_INLINE auto number_in_lane(const Number<Lane, true>& x, int lane) {
    return Number<typename LaneTraits<Lane>::Real, true>{get_lane(x.re, lane), get_lane(x.im, lane)};
}

template <class Lane, class Real>
WEYL_INLINE void set_number(Number<Lane, false>& x, int lane, Number<Real, false> value) {
    set_lane(x.re, lane, value.re);
}

template <class Lane, class Real>
WEYL_INLINE void set_number(Number<Lane, true>& x, int lane, Number<Real, true> value) {
    set_lane(x.re, lane, value.re);
    set_lane(x.im, lane, value.im);
}

}  // namespace WEYL_VARIANT
}  // namespace weyl
