// Diagonalises what a pair's distance is made of, by one-sided Jacobi rotations, a pair a lane.
//
// Free: X = U diag(sigma) V*. Columns of X are rotated until they are orthogonal; W starts as the identity and ends as V.
// Hermitian: X* W is Hermitian (X the chord, W its companion, X = U 2 sinh(v/2) V*, W = U 2 cosh(v/2) V*). Columns of
// both are rotated until it is diagonal: then they are U times 2 sinh and 2 cosh. The product is never formed, whose
// condition is the square of the factors'; its eigenvalues alpha = 2 sinh v keep their signs, so v and -v are apart.
//
// With g = X or W, alpha = Re x*g and gamma = x* g', d = (alpha - alpha')/2, the rotation is
//   x <- c (x + conj(t) x'),  x' <- c (x' - t x),  t = sign(d) gamma / (|d| + sqrt(d^2 + |gamma|^2)),  c = 1/sqrt(1 + |t|^2);
// where gamma = 0 it is the identity (no phase gamma/|gamma| is ever formed). Columns stay where they are: no sorting.
// The factors c are kept aside, one a column, which saves a third of the arithmetic (W. M. Gentleman 1973). Sweeps end
// after one whose rotations all were small: what these leave is smaller than rounding.
#pragma once

#include "lane_math.hpp"
#include "number.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// One lane that does everything. On a GPU a team of threads may share a pair: each takes the indices rank, rank + size, …
// of a loop over independent columns or rows, and sync() comes between loops that need each other's results.
struct Alone {
    static constexpr int rank = 0, size = 1;
    static constexpr int together = 4;  // independent rotations side by side, to hide the latency of one
    static constexpr bool in_blocks = true;  // large matrices: columns that stay in the cache meet first
    WEYL_INLINE void sync() const {}
    template <class Truth> WEYL_INLINE Truth any(Truth mine) const { return mine; }
};

constexpr int pair_sweeps = 30;  // 3 to 8 are used; the cap is for safety

template <class Lane, bool is_complex>
WEYL_INLINE Lane squared_norm(const Number<Lane, is_complex>* x, int rows) {
    Lane sum(0);
    WEYL_UNROLL
    for (int r = 0; r < rows; ++r) sum = multiply_add_modulus(sum, x[r]);
    return sum;
}

// x* y
template <class Lane, bool is_complex>
WEYL_INLINE Number<Lane, is_complex> inner(const Number<Lane, is_complex>* x, const Number<Lane, is_complex>* y,
                                           int rows) {
    auto sum = Number<Lane, is_complex>::from(Lane(0));
    WEYL_UNROLL
    for (int r = 0; r < rows; ++r) sum = multiply_add(sum, conjugate(x[r]), y[r]);
    return sum;
}

// gamma[m] = left_i* right_j for the columns of several meetings, side by side: one sum alone waits for itself.
template <class Lane, bool is_complex, class Opponents, class Team>
WEYL_INLINE void inner_products(const Number<Lane, is_complex>* left, const Number<Lane, is_complex>* right, int rows,
                                int base, const Opponents& opponents, const Team& team,
                                Number<Lane, is_complex>* gamma) {
    const Number<Lane, is_complex>*one[Team::together], *other[Team::together];
    WEYL_UNROLL
    for (int m = 0; m < Team::together; ++m) {
        int i, j;
        const bool met = opponents(base + m * team.size, i, j);
        one[m] = left + (met ? i * rows : 0), other[m] = right + (met ? j * rows : 0);
        gamma[m] = Number<Lane, is_complex>::from(Lane(0));
    }
    WEYL_UNROLL
    for (int r = 0; r < rows; ++r) {
        WEYL_UNROLL
        for (int m = 0; m < Team::together; ++m) gamma[m] = multiply_add(gamma[m], conjugate(one[m][r]), other[m][r]);
    }
}

// x <- x + conj(s) y, y <- y - t x
template <class Lane, bool is_complex>
WEYL_INLINE void rotate_pair(Number<Lane, is_complex>* x, Number<Lane, is_complex>* y, int rows,
                             Number<Lane, is_complex> s, Number<Lane, is_complex> t) {
    WEYL_UNROLL
    for (int r = 0; r < rows; ++r) {
        const auto was = x[r];
        x[r] = multiply_add(was, conjugate(s), y[r]);
        y[r] = multiply_subtract(y[r], t, was);
    }
}

template <class Lane, bool is_complex>
WEYL_INLINE void scale_column(Number<Lane, is_complex>* x, int rows, Lane factor) {
    WEYL_UNROLL
    for (int r = 0; r < rows; ++r) x[r] = factor * x[r];
}

// The factor by which X may be scaled so that squares of its squared lengths neither overflow nor vanish: a power of two.
template <class Lane, bool is_complex>
WEYL_INLINE Lane pair_scale(const Number<Lane, is_complex>* x, int count) {
    Lane largest(0);
    WEYL_UNROLL
    for (int i = 0; i < count; ++i) largest = maximum(largest, largest_part(x[i]));
    return inverse_power_of_two(largest);
}

// The columns i < j of a meeting in a round-robin tournament; false where there is none: the last player is nobody where
// the number of columns is odd.
WEYL_INLINE bool meet(int round, int meeting, int rounds, int columns, int& i, int& j) {
    const int one = (round + meeting) % rounds;
    const int other = meeting == 0 ? rounds : (round + rounds - meeting) % rounds;
    i = one < other ? one : other, j = one < other ? other : one;
    return meeting < (rounds + 1) / 2 && j < columns;
}

// x: rows x columns, column by column; w: (hermitian ? rows : columns) x columns, and left alone unless `vectors`;
// alpha, factor: columns. Fixed sizes unroll. Columns meet as in a round-robin tournament: the meetings of a round are
// independent. Returns the number of sweeps.
template <bool hermitian, int fixed_rows, int fixed_columns, class Lane, bool is_complex, class Team>
WEYL_INLINE int pair_jacobi(Number<Lane, is_complex>* x, Number<Lane, is_complex>* w, Lane* alpha, Lane* factor, int rows_,
                            int columns_, bool vectors, const Team& team) {
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;
    const int rows = fixed_rows ? fixed_rows : rows_, columns = fixed_columns ? fixed_columns : columns_;
    const int depth = hermitian ? rows : columns;  // rows of w
    const int rounds = columns - 1 + columns % 2;
    constexpr Real eps = Machine<Real>::epsilon, tiny = Machine<Real>::smallest_normal;
    // Of |gamma|^2 / (alpha alpha'), a squared cosine: what rounding may leave.
    constexpr Real noise_of_a_row = 16 * eps * eps;
    const Lane rounding(noise_of_a_row * Real(rows));
    // The gradient adds up what is left between all columns: of many, less than rounding may leave is worth a rotation.
    const Lane worth(Real(columns > 4 ? 0.03 : 1));
    // |t|^2 and squared cosines (these in units of rounding) that ask for one more sweep: it squares them.
    const Lane wide(8 * eps), far(8 * eps / (noise_of_a_row * Real(rows)));
    Lane turning(1);  // 0: this lane is done, whatever its neighbours do

    int sweep = 0;
    for (bool moved = columns > 1; sweep < pair_sweeps && moved; ++sweep) {
        const auto active = turning > Lane(0);
        turning = Lane(0);
        WEYL_UNROLL
        for (int i = team.rank; i < columns; i += team.size) {
            alpha[i] = hermitian ? inner(x + i * rows, w + i * rows, rows).re : squared_norm(x + i * rows, rows);
            factor[i] = Lane(1);
        }
        team.sync();
        Lane total(0), total_w(0);
        WEYL_UNROLL
        for (int i = 0; i < columns; ++i) {
            total = total + (hermitian ? squared_norm(x + i * rows, rows) : alpha[i]);
            if constexpr (hermitian) total_w = total_w + squared_norm(w + i * rows, rows);
        }
        team.sync();
        // Rounding leaves a column of a rank-deficient X with noise of this length; it counts as orthogonal.
        const Lane negligible = Lane(eps * eps) * total;
        // Rotates the columns of `meetings` independent pairs, which opponents(meeting, i, j) names; false: nobody there.
        const auto play = [&](int meetings, auto opponents) {
            WEYL_UNROLL
            for (int base = team.rank; base < meetings; base += Team::together * team.size) {
                Entry gamma[Team::together];
                Lane square[Team::together], noise[Team::together];
                decltype(Lane() < Lane()) oblique[Team::together];
                bool turn = false;
                inner_products(x, hermitian ? w : x, rows, base, opponents, team, gamma);
                WEYL_UNROLL
                for (int m = 0; m < Team::together; ++m) {
                    int i, j;
                    if (!opponents(base + m * team.size, i, j)) continue;
                    gamma[m] = (factor[i] * factor[j]) * gamma[m];
                    square[m] = squared_modulus(gamma[m]);
                    if constexpr (hermitian) {
                        // x has errors of eps |X|, w of eps |W|, whatever their lengths: X* W is Hermitian up to these.
                        const Lane of_w = factor[j] * factor[j] * squared_norm(w + j * rows, rows);
                        const Lane of_x = factor[i] * factor[i] * squared_norm(x + i * rows, rows);
                        noise[m] = Lane(eps * eps) * (total * of_w + total_w * of_x);
                    } else {
                        const Lane shorter = minimum(alpha[i], alpha[j]);
                        noise[m] = select(shorter < negligible, Lane(Machine<Real>::largest), rounding * (alpha[i] * alpha[j]));
                    }
                    oblique[m] = active & (square[m] > worth * noise[m]);
                    turn |= any(oblique[m]);
                }
                if (!turn) continue;
                // First all angles, then all rotations: an angle is a chain of operations that wait for each other, and
                // chains of several meetings fill each other's gaps.
                Entry s[Team::together], t[Team::together];
                WEYL_INTERLEAVE
                for (int m = 0; m < Team::together; ++m) {
                    int i, j;
                    if (!opponents(base + m * team.size, i, j)) continue;
                    const Lane d = Lane(Real(0.5)) * (alpha[i] - alpha[j]);
                    const Lane root = select(oblique[m], maximum(d * d + square[m], Lane(tiny)), Lane(1));
                    const Lane size = modulus(d) + root * inverse_root(root);
                    Lane quotient = select(oblique[m], inverse(select(d < Lane(0), Lane(0) - size, size)), Lane(0));
                    if (columns > 4) {  // of equal values, noise would turn the columns against all others
                        const auto idle = (quotient * quotient * square[m] > wide) & (noise[m] > square[m]);
                        quotient = select(idle, Lane(0), quotient);
                    }
                    const Lane shift = quotient * square[m], tangent = quotient * shift;  // |t|^2
                    turning = select(tangent > wide, Lane(1), turning);
                    if constexpr (!hermitian) {
                        turning = select(oblique[m] & (square[m] > far * noise[m]), Lane(1), turning);
                    }
                    const Lane fi = factor[i], fj = factor[j], scale = quotient * inverse(fi * fj);
                    s[m] = (scale * (fj * fj)) * gamma[m], t[m] = (scale * (fi * fi)) * gamma[m];
                    const Lane c = inverse_root(Lane(1) + tangent), square_of_c = c * c;
                    factor[i] = fi * c, factor[j] = fj * c;
                    if (columns > 4) {
                        // c is rounded up to 1 more often than down, and columns of rank 64 came out 30 eps too long: the
                        // digits that it lost go into the factors too.
                        const Lane rest = Lane(Real(0.5)) * c * ((Lane(1) - square_of_c) - tangent * square_of_c);
                        factor[i] = factor[i] + fi * rest, factor[j] = factor[j] + fj * rest;
                    }
                    alpha[i] = hermitian ? alpha[i] + shift : maximum(alpha[i] + shift, Lane(0));
                    alpha[j] = hermitian ? alpha[j] - shift : maximum(alpha[j] - shift, Lane(0));
                }
                WEYL_UNROLL
                for (int m = 0; m < Team::together; ++m) {
                    int i, j;
                    if (!opponents(base + m * team.size, i, j)) continue;
                    rotate_pair(x + i * rows, x + j * rows, rows, s[m], t[m]);
                    if (vectors) rotate_pair(w + i * depth, w + j * depth, depth, s[m], t[m]);
                }
            }
            team.sync();
        };
        if constexpr (Team::in_blocks && fixed_columns == 0) {
            // Blocks of about four columns: two of them stay in the cache while their columns meet.
            const int blocks = (columns + 2) / 4 > 0 ? (columns + 2) / 4 : 1;
            const auto start = [&](int number) { return number * columns / blocks; };
            for (int one = 0; one < blocks; ++one) {
                const int from = start(one), size = start(one + 1) - from, own_rounds = size - 1 + size % 2;
                for (int round = 0; round < own_rounds; ++round) {
                    play((own_rounds + 1) / 2, [&](int meeting, int& i, int& j) {
                        const bool met = meet(round, meeting, own_rounds, size, i, j);
                        i += from, j += from;
                        return met;
                    });
                }
                for (int other = one + 1; other < blocks; ++other) {
                    const int after = start(other), others = start(other + 1) - after;
                    const int small = size < others ? size : others, large = size + others - small;
                    for (int round = 0; round < large; ++round) {
                        play(small, [&](int meeting, int& i, int& j) {
                            const int turned = (meeting + round) % large;
                            i = from + (size < others ? meeting : turned), j = after + (size < others ? turned : meeting);
                            return meeting < small;
                        });
                    }
                }
            }
        } else {
            WEYL_UNROLL
            for (int round = 0; round < rounds; ++round) {
                play((rounds + 1) / 2, [&](int meeting, int& i, int& j) { return meet(round, meeting, rounds, columns, i, j); });
            }
        }
        WEYL_UNROLL
        for (int i = team.rank; i < columns; i += team.size) {
            scale_column(x + i * rows, rows, factor[i]);
            if (vectors) scale_column(w + i * depth, depth, factor[i]);
        }
        team.sync();
        turning = select(team.any(turning > Lane(0)), Lane(1), Lane(0));
        moved = any(turning > Lane(0));
    }
    if (hermitian && columns == 1) alpha[0] = inner(x, w, rows).re;
    return sweep;
}

}  // namespace WEYL_VARIANT
}  // namespace weyl
