// One factor of constant curvature in closed form: euclidean, hyperbolic (half space, stored as (x, log y)), sphere.
#pragma once

#include "lane_math.hpp"
#include "pair_batch.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Lane_, int kind, int fixed_rows> struct VectorPair {
    using Lane = Lane_;
    using Real = typename LaneTraits<Lane>::Real;

    int rows;
    Lane *step, *first_turn;  // the chord, scaled to length one; hyperbolic: three numbers for the gradient

    static WEYL_INLINE constexpr int workspace(int rows) { return rows + 3; }

    WEYL_INLINE VectorPair(const PairFactor& factor, Lane* memory) {
        rows = fixed_rows ? fixed_rows : factor.rows;
        step = memory;
        first_turn = memory + rows;
    }

    // Length of `step`, which is scaled to length one (or stays zero): no overflow, no underflow.
    WEYL_INLINE Lane normalise() const {
        Lane largest(0), sum(0);
        WEYL_UNROLL
        for (int i = 0; i < rows; ++i) largest = maximum(largest, modulus(step[i]));
        const Lane scale = inverse_power_of_two(largest);
        WEYL_UNROLL
        for (int i = 0; i < rows; ++i) step[i] = scale * step[i], sum = sum + step[i] * step[i];
        const auto still = largest < Lane(Machine<Real>::smallest_normal);
        const Lane length = square_root(sum), inverse = select(still, Lane(0), Lane(1) / select(still, Lane(1), length));
        WEYL_UNROLL
        for (int i = 0; i < rows; ++i) step[i] = inverse * step[i];
        return length / scale;
    }

    WEYL_INLINE void forward(const PairFactor&, const Lane* p, const Lane* q, Lane* v, bool) {
        if constexpr (kind == pair_hyperbolic) {
            const int last = rows - 1;
            const Lane half = Lane(Real(0.5)) * (p[last] - q[last]);
            Lane largest(0);
            WEYL_UNROLL
            for (int i = 0; i < last; ++i) step[i] = p[i] - q[i], largest = maximum(largest, modulus(step[i]));
            // Far points: e^shift is left out of sinh(v/2), beyond where e^-v counts, before anything overflows.
            const Lane scale = inverse_power_of_two(largest);
            Lane mantissa, exponent;
            split_exponent(scale, mantissa, exponent);
            const Lane height = Lane(Real(-0.5)) * (p[last] + q[last]);
            const Lane rise = select(Lane(0) < largest, height - Lane(Real(0.6931471805599453)) * exponent, Lane(0));
            const Lane shift = maximum(maximum(modulus(half), rise) - Lane(40), Lane(0));
            const auto beyond = shift > Lane(0);
            const Lane shrink = exponential(select(beyond, rise - shift, Lane(Real(0.5)) * height));
            const Lane inner = Lane(Real(0.5)) * select(beyond, scale, shrink);
            WEYL_UNROLL
            for (int i = 0; i < last; ++i) step[i] = shrink * (inner * step[i]);
            const Lane up = exponential(half - shift), down = exponential(Lane(0) - half - shift);
            step[last] = sine_hyperbolic(half, up, down);
            const Lane s = normalise();
            v[0] = Lane(2) * (shift + inverse_sinh(s));
            const auto far = s > Lane(1);
            const Lane safe = select(far, s, Lane(1)), near = select(far, Lane(1), s);
            const Lane cosine = select(far, safe * square_root(Lane(1) + Lane(1) / (safe * safe)),
                                       square_root(Lane(1) + near * near));
            first_turn[0] = up / cosine;
            first_turn[1] = down / cosine;
            first_turn[2] = s / cosine;
        } else {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) step[i] = p[i] - q[i];
            const Lane length = normalise();
            if constexpr (kind == pair_euclidean) {
                v[0] = length;
            } else {
                Lane square(0);
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) square = square + (p[i] + q[i]) * (p[i] + q[i]);
                const Lane across = square_root(square);
                v[0] = Lane(2) * arctangent(length, across);
                first_turn[0] = Lane(Real(0.5)) * across;  // cos(v/2)
                first_turn[1] = Lane(Real(0.5)) * length;  // sin(v/2)
            }
        }
    }

    // Gradients in the frames; on the sphere as vectors of the surrounding space.
    WEYL_INLINE Lane backward(const PairFactor&, const Lane* p, const Lane* q, const Lane* slopes, Lane* first,
                              Lane* second) {
        const Lane w = slopes[0];
        if constexpr (kind == pair_euclidean) {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) first[i] = w * step[i], second[i] = Lane(0) - first[i];
        } else if constexpr (kind == pair_hyperbolic) {
            // d sinh^2(v/2) = (x1 - x2) dx / (2 y1 y2) + (sinh(l1 - l2) / 2 - |x1 - x2|^2 / (4 y1 y2)) dl1, over sinh cosh
            const int last = rows - 1;
            Lane flat(0);
            WEYL_UNROLL
            for (int i = 0; i < last; ++i) {
                first[i] = w * first_turn[0] * step[i];
                second[i] = Lane(0) - w * first_turn[1] * step[i];
                flat = flat + step[i] * step[i];
            }
            const Lane down = first_turn[2] * flat;
            const Lane up = Lane(Real(0.5)) * step[last] * (first_turn[0] + first_turn[1]);
            first[last] = w * (up - down);
            second[last] = Lane(0) - w * (up + down);
        } else {
            // the unit tangent at p away from q: cos(v/2) (p - q)/|p - q| - sin(v/2) (p + q)/|p + q|; at -q there is none
            const auto cut = first_turn[0] < Lane(Real(1e-12));
            const Lane turn = select(cut, Lane(0), Lane(Real(0.5)) * first_turn[1] / select(cut, Lane(1), first_turn[0]));
            const Lane ahead = select(cut, Lane(0), w * first_turn[0]);
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) {
                const Lane along = w * turn * (p[i] + q[i]);
                first[i] = ahead * step[i] - along, second[i] = Lane(0) - ahead * step[i] - along;
            }
        }
        return Lane(0);
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl
