// Singular value decomposition C = U diag(s) V* of small matrices by one-sided Jacobi rotations.
//
// Columns of C are rotated in pairs until all are orthogonal: then they are U diag(s), and the rotations are V. Each
// lane carries a matrix of its own and goes its way alone: a lane whose columns are orthogonal is rotated by exactly
// the identity, so results do not depend on the neighbours. Small singular values of a matrix with columns of very
// different lengths come out with all their digits (Demmel & Veselic, SIAM J. Matrix Anal. Appl. 13, 1992).
//
// No phase gamma/|gamma| is ever formed. With alpha >= beta the squared lengths of two columns x, y, gamma = x* y and
// d = (alpha - beta)/2, the rotation  x' = c (x + conj(t) y), y' = c (y - t x),  t = gamma / (d + sqrt(d^2 + |gamma|^2)),
// c = 1/sqrt(1 + |t|^2)  is the identity where gamma = 0.
#pragma once

#include "number.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

constexpr int jacobi_sweeps = 30;  // 4 to 8 are used; the cap is for safety

// Squares of squares of scaled entries have to stay finite: entries are brought to about 2^jacobi_exponent.
template <class Real> WEYL_INLINE int jacobi_exponent(int rows) {
    return (Machine<Real>::largest_exponent - 12 - 2 * (exponent_of(Real(rows)) + 1)) / 4;
}

// Columns shorter than this (1e-14 of the longest in float, 1e-140 in double) count as zero: squares of their inner
// products would underflow, so they can no longer be told from orthogonal. What rounding leaves of a rank-deficient
// matrix shrinks with every rotation and ends here too.
template <class Real> WEYL_INLINE Real negligible_squared_length() {
    return power_of_two<Real>(-(Machine<Real>::largest_exponent - 1) / 2) / Machine<Real>::epsilon;
}

// Power of two, lane by lane, that brings the largest modulus of a real or imaginary part to about 2^jacobi_exponent
template <class Lane, bool is_complex>
WEYL_INLINE Lane jacobi_scale(const Number<Lane, is_complex>* a, int rows, int columns) {
    using Real = typename LaneTraits<Lane>::Real;
    Lane largest(0);
    for (int i = 0; i < rows * columns; ++i) {
        const auto entry = a[i];
        const Lane re = select(entry.re < Lane(0), -entry.re, entry.re);
        largest = select(largest < re, re, largest);
        if constexpr (is_complex) {
            const Lane im = select(entry.im < Lane(0), -entry.im, entry.im);
            largest = select(largest < im, im, largest);
        }
    }
    Lane scale(1);
    for (int lane = 0; lane < LaneTraits<Lane>::width; ++lane) {
        const int exponent = jacobi_exponent<Real>(rows) - exponent_of(get_lane(largest, lane));
        constexpr int bound = Machine<Real>::largest_exponent;
        set_lane(scale, lane, power_of_two<Real>(exponent < bound ? exponent : bound));
    }
    return scale;
}

template <class Lane, bool is_complex, class Truth>
WEYL_INLINE void swap_columns(Number<Lane, is_complex>* x, Number<Lane, is_complex>* y, int rows, Truth truth) {
    for (int r = 0; r < rows; ++r) {
        const auto was = x[r];
        x[r] = choose(truth, y[r], was);
        y[r] = choose(truth, was, y[r]);
    }
}

template <class Lane, bool is_complex>
WEYL_INLINE void rotate_columns(Number<Lane, is_complex>* x, Number<Lane, is_complex>* y, int rows, Lane c,
                                Number<Lane, is_complex> s) {
    for (int r = 0; r < rows; ++r) {
        const auto was = x[r];
        x[r] = c * was + conjugate(s) * y[r];
        y[r] = c * y[r] - s * was;
    }
}

template <class Lane, bool is_complex>
WEYL_INLINE Lane squared_length(const Number<Lane, is_complex>* x, int rows) {
    Lane sum(0);
    for (int r = 0; r < rows; ++r) sum = sum + squared_modulus(x[r]);
    return sum;
}

// Replaces column `column` in one lane by a unit vector orthogonal to the unit columns before it.
template <class Lane, bool is_complex>
WEYL_FUNCTION void complete_column(Number<Lane, is_complex>* u, int rows, int column, int lane) {
    using Real = typename LaneTraits<Lane>::Real;
    using Scalar = Number<Real, is_complex>;
    int axis = 0;  // the coordinate vector farthest from the span of the columns before
    Real least = 2;
    for (int r = 0; r < rows; ++r) {
        Real inside = 0;
        for (int k = 0; k < column; ++k) inside += squared_modulus(number_in_lane(u[k * rows + r], lane));
        if (inside < least) least = inside, axis = r;
    }
    auto* x = u + column * rows;
    for (int r = 0; r < rows; ++r) set_number(x[r], lane, Scalar::from(r == axis ? Real(1) : Real(0)));
    for (int pass = 0; pass < 2; ++pass) {  // twice is enough (Kahan and Parlett)
        for (int k = 0; k < column; ++k) {
            Scalar inner = Scalar::from(0);
            for (int r = 0; r < rows; ++r) {
                inner = inner + conjugate(number_in_lane(u[k * rows + r], lane)) * number_in_lane(x[r], lane);
            }
            for (int r = 0; r < rows; ++r) {
                set_number(x[r], lane, number_in_lane(x[r], lane) - inner * number_in_lane(u[k * rows + r], lane));
            }
        }
        Real sum = 0;
        for (int r = 0; r < rows; ++r) sum += squared_modulus(number_in_lane(x[r], lane));
        const Real inverse = 1 / square_root(sum);
        for (int r = 0; r < rows; ++r) set_number(x[r], lane, inverse * number_in_lane(x[r], lane));
    }
}

// a: rows x columns, rows >= columns, stored column by column, finite; becomes U with orthonormal columns.
// v: columns x columns, becomes V.  s: columns, becomes the singular values, non-increasing, all >= 0.
// fixed_rows and fixed_columns unroll the loops when they are not 0. Returns the number of sweeps.
template <int fixed_rows, int fixed_columns, class Lane, bool is_complex>
WEYL_FUNCTION int jacobi_svd(Number<Lane, is_complex>* a, Number<Lane, is_complex>* v, Lane* s, int rows_,
                             int columns_) {
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;
    const int rows = fixed_rows ? fixed_rows : rows_, columns = fixed_columns ? fixed_columns : columns_;

    const Lane scale = jacobi_scale(a, rows, columns);
    for (int i = 0; i < rows * columns; ++i) a[i] = scale * a[i];
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < columns; ++i) v[j * columns + i] = Entry::from(Lane(i == j ? Real(1) : Real(0)));
    }

    const Real tolerance = 4 * Machine<Real>::epsilon * square_root(Real(rows));
    const Lane squared_tolerance(tolerance * tolerance);
    const Lane negligible(negligible_squared_length<Real>());
    bool moved = true;
    int sweep = 0;
    for (; sweep < jacobi_sweeps && moved; ++sweep) {
        moved = false;
        for (int i = 0; i + 1 < columns; ++i) {
            for (int j = i + 1; j < columns; ++j) {
                Entry *x = a + i * rows, *y = a + j * rows;
                Lane alpha(0), beta(0);
                Entry gamma = Entry::from(Lane(0));
                for (int r = 0; r < rows; ++r) {
                    alpha = alpha + squared_modulus(x[r]);
                    beta = beta + squared_modulus(y[r]);
                    gamma = gamma + conjugate(x[r]) * y[r];
                }
                const auto wrong_order = alpha < beta;
                if (any(wrong_order)) {  // the longer column goes first: sorts, and saves sweeps
                    swap_columns(x, y, rows, wrong_order);
                    swap_columns(v + i * columns, v + j * columns, columns, wrong_order);
                    const Lane was = alpha;
                    alpha = select(wrong_order, beta, alpha);
                    beta = select(wrong_order, was, beta);
                    gamma = choose(wrong_order, conjugate(gamma), gamma);
                    moved = true;
                }
                const Lane inner = squared_modulus(gamma);
                const auto oblique = (inner > squared_tolerance * (alpha * beta)) & (beta > negligible);
                if (any(oblique)) {
                    const Lane d = Lane(Real(0.5)) * (alpha - beta);
                    const Lane denominator = d + square_root(d * d + inner);
                    const Lane reciprocal = Lane(1) / select(oblique, denominator, Lane(1));
                    const Entry t = choose(oblique, reciprocal * gamma, Entry::from(Lane(0)));
                    const Lane c = Lane(1) / square_root(Lane(1) + squared_modulus(t));
                    rotate_columns(x, y, rows, c, c * t);
                    rotate_columns(v + i * columns, v + j * columns, columns, c, c * t);
                    moved = true;
                }
            }
        }
    }

    const Lane vanishing = Lane(4) * negligible;  // surely more than any column that was not rotated
    for (int j = 0; j < columns; ++j) {
        Entry* x = a + j * rows;
        const Lane squared = squared_length(x, rows), length = square_root(squared);
        const auto vanishes = squared < vanishing;
        s[j] = length / scale;
        const Lane inverse = Lane(1) / select(vanishes, Lane(1), length);
        for (int r = 0; r < rows; ++r) x[r] = inverse * x[r];
        if (any(vanishes)) {
            for (int lane = 0; lane < LaneTraits<Lane>::width; ++lane) {
                if (get_lane(squared, lane) < get_lane(vanishing, lane)) complete_column(a, rows, j, lane);
            }
        }
    }
    return sweep;
}

}  // namespace WEYL_VARIANT
}  // namespace weyl
