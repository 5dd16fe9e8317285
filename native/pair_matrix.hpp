// One factor of matrices: from the frames of two nodes to v(p, q), and from dF/dv to the gradients in both frames.
//
//   half spaces, H = skew + L L*:  C = L1^-1 (H2 - H1) L2^-*,  N = L1^-1 (H2 + H1*) L2^-*,  v = 2 asinh(sigma / 2)
//   balls, AA* = Id + kZZ*, BB* = Id + kZ*Z:  C = A1^-1 (Z2 - Z1) B2^-*,  N = B1^-1 (Id + k Z1*Z2) B2^-*,
//                                             a = A1^-1 (Id + k Z1 Z2*) A2^-*,  v = scale arcsin_k sigma
//   with C = U diag(sigma) V*, tangent vectors A xi B* (half space: L xi L*):
//   gradient at p: -U diag(w) (N V / c)* / scale,  at q: (a* U / c) diag(w) V* / scale,  c the lengths of the columns.
//
// Frames are stored, not points: L = L2 - L1 first, so that near points lose no digits, and never Y = L L*, whose
// condition is the square of the frame's.
#pragma once

#include "pair_batch.hpp"
#include "pair_jacobi.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// A lower triangular matrix as nodes store it: inverse diagonal, diagonal, entries below it row by row.
template <class Lane, bool is_complex> struct Triangle {
    using Scalar = Lane;
    const Lane* stored;
    int size;

    WEYL_INLINE Lane inverse(int i) const { return stored[i]; }
    WEYL_INLINE Lane diagonal(int i) const { return stored[size + i]; }
    WEYL_INLINE Number<Lane, is_complex> below(int i, int j) const {
        const Lane* entry = stored + 2 * size + (is_complex ? 2 : 1) * (i * (i - 1) / 2 + j);
        if constexpr (is_complex) {
            return {entry[0], entry[1]};
        } else {
            return {entry[0]};
        }
    }
    static WEYL_INLINE constexpr int reals(int size) { return 2 * size + (is_complex ? 2 : 1) * (size * (size - 1) / 2); }
};

template <class Lane> WEYL_INLINE Number<Lane, true> operator*(Number<Lane, false> c, Number<Lane, true> x) {
    return {c.re * x.re, c.re * x.im};
}

template <bool conjugated, class Lane, bool is_complex>
WEYL_INLINE Number<Lane, is_complex> conjugate_if(Number<Lane, is_complex> x) {
    if constexpr (conjugated) {
        return conjugate(x);
    } else {
        return x;
    }
}

// Calls work(first, count) for the members of [0, size) that are this thread's, one by one, or where it is `wide` four
// neighbours at a time, whose sums need not wait for each other; count is a constant.
template <int count_> struct Count {
    static constexpr int count = count_;
};

template <bool wide, class Team, class Work> WEYL_INLINE void in_groups(int size, const Team& team, const Work& work) {
    int first = team.rank;
    if constexpr (wide) {
        for (; first + 4 <= size; first += 4) work(first, Count<4>());
        if (first + 2 <= size) work(first, Count<2>()), first += 2;
        if (first < size) work(first, Count<1>());
    } else {
        WEYL_UNROLL
        for (; first < size; first += team.size) work(first, Count<1>());
    }
}

// X <- T^-1 X (or conj(T)^-1 X), X column by column
template <bool wide, bool conjugated, class T, class Entry, class Team>
WEYL_INLINE void solve_left(const T& t, Entry* x, int rows, int columns, const Team& team) {
    in_groups<wide>(columns, team, [&](int j, auto group) {
        constexpr int count = decltype(group)::count;
        WEYL_UNROLL
        for (int i = 0; i < rows; ++i) {
            Entry sum[count];
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) sum[c] = x[(j + c) * rows + i];
            WEYL_UNROLL
            for (int k = 0; k < i; ++k) {
                const Entry factor = conjugate_if<conjugated>(t.below(i, k));
                WEYL_UNROLL
                for (int c = 0; c < count; ++c) sum[c] = multiply_subtract(sum[c], factor, x[(j + c) * rows + k]);
            }
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) x[(j + c) * rows + i] = t.inverse(i) * sum[c];
        }
    });
}

// X <- X T^-*
template <bool wide, class T, class Entry, class Team>
WEYL_INLINE void solve_right(const T& t, Entry* x, int rows, int columns, const Team& team) {
    in_groups<wide>(rows, team, [&](int i, auto group) {
        constexpr int count = decltype(group)::count;
        WEYL_UNROLL
        for (int j = 0; j < columns; ++j) {
            Entry sum[count];
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) sum[c] = x[j * rows + i + c];
            WEYL_UNROLL
            for (int k = 0; k < j; ++k) {
                const Entry factor = conjugate(t.below(j, k));
                WEYL_UNROLL
                for (int c = 0; c < count; ++c) sum[c] = multiply_subtract(sum[c], factor, x[k * rows + i + c]);
            }
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) x[j * rows + i + c] = t.inverse(j) * sum[c];
        }
    });
}

// E = T^-1 R below and on the diagonal, R lower triangular, right(i, j) its entry; 0 above. Column by column.
template <bool wide, class T, class Entry, class Right, class Team>
WEYL_INLINE void solve_triangle(const T& t, const Right& right, Entry* e, int n, const Team& team) {
    in_groups<wide>(n, team, [&](int j, auto group) {
        constexpr int count = decltype(group)::count;
        WEYL_UNROLL
        for (int i = 0; i < n; ++i) {
            Entry sum[count];
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) sum[c] = i < j + c ? Entry::from(typename T::Scalar(0)) : right(i, j + c);
            WEYL_UNROLL
            for (int k = j; k < i; ++k) {
                const Entry factor = t.below(i, k);
                WEYL_UNROLL
                for (int c = 0; c < count; ++c) sum[c] = multiply_subtract(sum[c], factor, e[(j + c) * n + k]);
            }
            WEYL_UNROLL
            for (int c = 0; c < count; ++c) e[(j + c) * n + i] = t.inverse(i) * sum[c];
        }
    });
}

// E = T^-1 (T2 - T1), T one of the two
template <bool wide, class T, class Entry, class Team>
WEYL_INLINE void relative_step(const T& t, const T& t1, const T& t2, Entry* e, int n, const Team& team) {
    const auto difference = [&](int i, int j) {
        return i == j ? Entry::from(t2.diagonal(i) - t1.diagonal(i)) : t2.below(i, j) - t1.below(i, j);
    };
    solve_triangle<wide>(t, difference, e, n, team);
}

// A matrix where entry (i, k) stands at i * row + k * column.
template <class Entry> struct Strided {
    const Entry* entries;
    int row, column;
};

// emit(i, j, sum over k of left(i, k) right(j, k)) for j from start(i), which does not decrease; either side conjugated
// where asked. Four sums side by side where a thread works alone.
template <bool conjugate_left, bool conjugate_right, class Entry, class Team, class Start, class Emit>
WEYL_INLINE void products(Strided<Entry> left, int lefts, Strided<Entry> right, int rights, int depth, const Team& team,
                          const Start& start, const Emit& emit) {
    constexpr int tile = Team::in_blocks ? 2 : 1;
    WEYL_UNROLL
    for (int i = tile * team.rank; i < lefts; i += tile * team.size) {
        WEYL_UNROLL
        for (int j = start(i); j < rights; j += tile) {
            const Entry *x[tile], *y[tile];
            Entry sum[tile][tile];
            WEYL_UNROLL
            for (int a = 0; a < tile; ++a) {
                x[a] = left.entries + (i + a < lefts ? i + a : i) * left.row;
                y[a] = right.entries + (j + a < rights ? j + a : j) * right.row;
                WEYL_UNROLL
                for (int b = 0; b < tile; ++b) sum[a][b] = Entry::from(typename Entry::Scalar(0));
            }
            WEYL_UNROLL
            for (int k = 0; k < depth; ++k) {
                WEYL_UNROLL
                for (int a = 0; a < tile; ++a) {
                    WEYL_UNROLL
                    for (int b = 0; b < tile; ++b) {
                        sum[a][b] = multiply_add(sum[a][b], conjugate_if<conjugate_left>(x[a][k * left.column]),
                                                 conjugate_if<conjugate_right>(y[b][k * right.column]));
                    }
                }
            }
            WEYL_UNROLL
            for (int a = 0; a < tile; ++a) {
                WEYL_UNROLL
                for (int b = 0; b < tile; ++b) {
                    if (i + a < lefts && j + b < rights && j + b >= start(i + a)) emit(i + a, j + b, sum[a][b]);
                }
            }
        }
    }
}

// theta from sine = sin_k(theta) and cosine = cos_k(theta) >= 0, and its derivative in k at a fixed sine.
template <class Lane> struct Arc {
    Lane angle, in_curvature;
};

template <bool learned, class Lane> WEYL_INLINE Arc<Lane> arcsine(Lane sine, Lane cosine, double curvature) {
    using Real = typename LaneTraits<Lane>::Real;
    constexpr int terms = 9;
    const Real k = Real(curvature), root = square_root(k < 0 ? -k : k);
    const Lane square = sine * sine, t = Lane(k) * square;
    const auto near = modulus(t) < Lane(Real(0.01));
    Lane series(0), slope(0);
    WEYL_UNROLL
    for (int m = terms - 1; m >= 0; --m) {
        double a = 1;  // of arcsine x = sum a x^(2m + 1)
        for (int i = 0; i < m; ++i) a *= double(2 * i + 1) * (2 * i + 1) / (double(2 * i + 2) * (2 * i + 3));
        series = series * t + Lane(Real(a));
        if (learned && m > 0) slope = slope * t + Lane(Real(m * a));
    }
    Lane angle = sine * series;
    if (k != 0) {
        const Lane far = k > 0 ? arctangent(Lane(root) * sine, cosine) : inverse_sinh(Lane(root) * sine);
        angle = select(near, angle, far / Lane(root));
    }
    Lane in_curvature(0);
    if (learned) {
        in_curvature = sine * square * slope;
        if (k != 0) {
            const auto cut = cosine < Lane(Real(1e-12));
            const Lane ratio = select(cut, Lane(0), sine / select(cut, Lane(1), cosine));
            in_curvature = select(near, in_curvature, (ratio - angle) / Lane(2 * k));
        }
    }
    return {angle, in_curvature};
}

template <class Lane_, int kind, bool is_complex, int fixed_rows, int fixed_columns, class Team = Alone>
struct MatrixPair {
    using Lane = Lane_;
    using Real = typename LaneTraits<Lane>::Real;
    using Entry = Number<Lane, is_complex>;
    static constexpr bool siegel = kind == pair_siegel, hermitian = kind == pair_positive;
    static constexpr bool half_space = siegel || hermitian, free = kind == pair_ball;
    static constexpr int reals = is_complex ? 2 : 1;
    static constexpr bool wide = Team::in_blocks && fixed_columns == 0;
    using Frame = Triangle<Lane, is_complex && !siegel>;
    using Matrix = Strided<Entry>;

    Team team;
    int rows, columns;
    Entry *x, *w, *n, *a, *t;  // chord, then U; V; companions; temporary. Hermitian: V, then U in w
    Lane *alpha, *angle, *cosine, *rank, *in_curvature;

    static WEYL_INLINE constexpr int workspace(int rows, int columns) {  // in lanes
        const int entries = rows * columns + (hermitian ? rows : columns) * columns + columns * columns +
                            (free ? rows * rows : 0) + rows * columns;
        return entries * reals + 5 * columns;
    }

    WEYL_INLINE MatrixPair(const PairFactor& factor, Lane* memory, Team team_ = Team()) : team(team_) {
        rows = fixed_rows ? fixed_rows : factor.rows, columns = fixed_columns ? fixed_columns : factor.columns;
        x = reinterpret_cast<Entry*>(memory);
        w = x + rows * columns;
        n = w + (hermitian ? rows : columns) * columns;
        a = n + columns * columns;
        t = a + (free ? rows * rows : 0);
        alpha = reinterpret_cast<Lane*>(t + rows * columns);
        angle = alpha + columns, cosine = angle + columns, rank = cosine + columns, in_curvature = rank + columns;
    }

    static WEYL_INLINE Entry entry(const Lane* stored, int index) {
        if constexpr (is_complex) {
            return {stored[2 * index], stored[2 * index + 1]};
        } else {
            return {stored[index]};
        }
    }

    WEYL_INLINE void half_space_chord(const Lane* p, const Lane* q) {
        const int size = columns;
        const Frame first{p, size}, second{q, size};
        using Step = Number<Lane, is_complex && !siegel>;
        Step* const e1 = reinterpret_cast<Step*>(t);  // L1^-1 (L2 - L1) and L2^-1 (L2 - L1)
        Step* const e2 = reinterpret_cast<Step*>(w);
        relative_step<wide>(first, first, second, e1, size, team);
        relative_step<wide>(second, first, second, e2, size, team);
        if constexpr (siegel) {
            const Lane *x1 = p + Frame::reals(size), *x2 = q + Frame::reals(size);
            Step* const s = reinterpret_cast<Step*>(n);
            WEYL_UNROLL
            for (int i = team.rank; i < size; i += team.size) {
                WEYL_UNROLL
                for (int j = i; j < size; ++j) {
                    const int at = i * size - i * (i - 1) / 2 + (j - i);
                    s[j * size + i] = s[i * size + j] = Step{x2[at] - x1[at]};
                }
            }
            team.sync();
            solve_left<wide, false>(first, s, size, size, team);
            team.sync();
            solve_right<wide>(second, s, size, size, team);
            team.sync();
            WEYL_UNROLL
            for (int i = team.rank; i < size * size; i += team.size) x[i].im = Lane(0) - s[i].re;
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < size; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < size; ++i) {
                    const int at = j * size + i;
                    x[at].re = e1[at].re + e2[i * size + j].re;
                    n[at] = {e1[at].re - e2[i * size + j].re + Lane(i == j ? 2 : 0), x[at].im};
                }
            }
        } else {
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < size; j += team.size) {
                WEYL_UNROLL
                for (int i = 0; i < size; ++i) {
                    const int at = j * size + i;
                    const Entry back = conjugate(e2[i * size + j]);
                    x[at] = e1[at] + back;
                    n[at] = e1[at] - back + Entry::from(Lane(i == j ? 2 : 0));
                }
            }
        }
    }

    WEYL_INLINE void ball_chord(const PairFactor& factor, const Lane* p, const Lane* q) {
        const int after_a = free ? Frame::reals(rows) : 0, after_b = after_a + Frame::reals(columns);
        const Frame a1{p, rows}, a2{q, rows}, b1{p + after_a, columns}, b2{q + after_a, columns};
        const Lane *z1 = p + after_b, *z2 = q + after_b;
        const Lane *s1 = z1 + reals * rows * columns, *s2 = z2 + reals * rows * columns;
        const Lane k(Real(factor.curvature));
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) x[j * rows + i] = entry(z2, i * columns + j) - entry(z1, i * columns + j);
        }
        if constexpr (free) {
            solve_left<wide, false>(a1, x, rows, columns, team);
        } else {
            solve_left<wide, true>(b1, x, rows, columns, team);  // A = conj(B)
        }
        team.sync();
        solve_right<wide>(b2, x, rows, columns, team);
        // N = (B2^-1 B1)* + k S1* C and a = A1^-1 A2 - k C S2*, S = A* Z B^-* = A^-1 Z B
        product_of_triangles(b2, b1, t, columns);
        if constexpr (free) product_of_triangles(a1, a2, a, rows);
        team.sync();
        const Matrix chord{x, rows, 1}, turned{reinterpret_cast<const Entry*>(s1), 1, columns};
        products<true, false>(turned, columns, chord, columns, rows, team, from_zero, [&](int i, int j, Entry sum) {
            n[j * columns + i] = conjugate(t[i * columns + j]) + k * sum;
        });
        if constexpr (free) {
            const Matrix across{x, 1, rows}, behind{reinterpret_cast<const Entry*>(s2), columns, 1};
            products<false, true>(across, rows, behind, rows, columns, team, from_zero, [&](int i, int j, Entry sum) {
                a[j * rows + i] = a[j * rows + i] - k * sum;
            });
        }
    }

    static WEYL_INLINE int from_zero(int) { return 0; }

    // out = left^-1 right, lower triangular, column by column
    WEYL_INLINE void product_of_triangles(const Frame& left, const Frame& right, Entry* out, int size) const {
        const auto entry_of_right = [&](int i, int j) { return i == j ? Entry::from(right.diagonal(i)) : right.below(i, j); };
        solve_triangle<wide>(left, entry_of_right, out, size, team);
    }

    // t = N V
    WEYL_INLINE void turn() const {
        products<false, false>(Matrix{n, 1, columns}, columns, Matrix{w, columns, 1}, columns, columns, team, from_zero,
                               [&](int i, int j, Entry sum) { t[j * columns + i] = sum; });
        team.sync();
    }

    // Fills the components of v, non-increasing.
    WEYL_INLINE void forward(const PairFactor& factor, const Lane* p, const Lane* q, Lane* v, bool gradients) {
        if constexpr (half_space) {
            half_space_chord(p, q);
        } else {
            ball_chord(factor, p, q);
        }
        team.sync();
        const Lane scale = pair_scale(x, rows * columns);
        // In half spaces only directions of N count.
        const Lane companion_scale = half_space ? pair_scale(n, columns * columns) : Lane(1);
        team.sync();
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            WEYL_UNROLL
            for (int i = 0; i < rows; ++i) x[j * rows + i] = scale * x[j * rows + i];
            WEYL_UNROLL
            for (int i = 0; i < (hermitian ? rows : columns); ++i) {
                if constexpr (half_space) n[j * columns + i] = companion_scale * n[j * columns + i];
                w[j * columns + i] = hermitian ? n[j * columns + i] : Entry::from(Lane(i == j ? 1 : 0));
            }
        }
        team.sync();
        // V is there for the gradient, and for the cosines where space is compact.
        const bool vectors = gradients || hermitian || (!half_space && factor.curvature > 0);
        pair_jacobi<hermitian, fixed_rows, fixed_columns>(x, w, alpha, rank, rows, columns, vectors, team);
        measure(factor, scale, vectors);
        sort(factor, v);
    }

    WEYL_INLINE void measure(const PairFactor& factor, Lane scale, bool vectors) {
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            const Lane square = squared_norm(x + j * rows, rows);
            if constexpr (hermitian) {  // alpha keeps the sign
                alpha[j] = select(alpha[j] < Lane(0), Lane(0) - square_root(square), square_root(square));
            } else {
                alpha[j] = square;
            }
        }
        team.sync();
        Lane total(0);
        WEYL_UNROLL
        for (int j = 0; j < columns; ++j) total = total + alpha[j];
        const Lane noise = Lane(Machine<Real>::epsilon * Machine<Real>::epsilon) * total;
        team.sync();
        if constexpr (!half_space) {
            if (vectors) turn();
        }
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            Entry* const column = x + j * rows;
            if constexpr (hermitian) {
                const Lane sine = alpha[j] / scale, value = inverse_sinh(Lane(Real(0.5)) * modulus(sine));
                angle[j] = Lane(2) * select(sine < Lane(0), Lane(0) - value, value);
                Entry* const u = w + j * rows;
                const Lane inverse = Lane(1) / square_root(squared_norm(u, rows));
                WEYL_UNROLL
                for (int r = 0; r < rows; ++r) u[r] = inverse * u[r];
            } else {
                const Lane length = square_root(alpha[j]), sine = length / scale;
                // A value that is zero up to rounding has no direction: its column of the gradient counts as zero.
                const auto points = noise < alpha[j];
                const Lane inverse = select(points, Lane(1) / select(points, length, Lane(1)), Lane(0));
                WEYL_UNROLL
                for (int r = 0; r < rows; ++r) column[r] = inverse * column[r];
                if constexpr (half_space) {
                    angle[j] = Lane(2) * inverse_sinh(Lane(Real(0.5)) * sine);
                } else {
                    cosine[j] = vectors ? square_root(squared_norm(t + j * columns, columns)) : Lane(1);
                    alpha[j] = sine;
                    const auto arc = factor.learned ? arcsine<true>(sine, cosine[j], factor.curvature)
                                                    : arcsine<false>(sine, cosine[j], factor.curvature);
                    angle[j] = Lane(Real(factor.scale)) * arc.angle;
                    in_curvature[j] = Lane(Real(factor.scale)) * arc.in_curvature;
                }
            }
        }
        team.sync();
    }

    // The place of every value among all, and the components: means of `copies` values that belong together.
    WEYL_INLINE void sort(const PairFactor& factor, Lane* v) {
        const int copies = factor.copies;
        WEYL_UNROLL
        for (int j = team.rank; j < columns; j += team.size) {
            Lane place(0);
            WEYL_UNROLL
            for (int i = 0; i < columns; ++i) {
                if (i < j) place = place + select(angle[i] < angle[j], Lane(0), Lane(1));
                if (i > j) place = place + select(angle[j] < angle[i], Lane(1), Lane(0));
            }
            rank[j] = place;
        }
        team.sync();
        const Lane share(Real(1) / Real(copies));
        WEYL_UNROLL
        for (int c = team.rank; c < columns; c += team.size) {
            if (c >= factor.length) break;
            const Lane low(Real(c * copies) - Real(0.5)), high(Real(c * copies + copies) - Real(0.5));
            Lane sum(0);
            WEYL_UNROLL
            for (int j = 0; j < columns; ++j) {
                sum = sum + select(low < rank[j], select(rank[j] < high, angle[j], Lane(0)), Lane(0));
            }
            v[c] = share * sum;
        }
        team.sync();
    }

    WEYL_INLINE Lane slope(const PairFactor& factor, const Lane* slopes, int j) const {
        Lane sum(0);
        WEYL_UNROLL
        for (int r = 0; r < columns; ++r) {
            if (r >= factor.length * factor.copies) break;
            sum = select(rank[j] == Lane(Real(r)), slopes[r / factor.copies], sum);
        }
        return sum;
    }

    // slopes: dF/dv of the components. Fills the kept entries of both gradients, and returns dF/dk where it is learned.
    WEYL_INLINE Lane backward(const PairFactor& factor, const Lane* p, const Lane* q, const Lane* slopes, Lane* first,
                              Lane* second) {
        Lane in_k(0);
        if constexpr (hermitian) {  // -U w U* and V w V*, V = N* U / |N* U|
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {
                alpha[j] = slope(factor, slopes, j);
                const Entry* const u = w + j * rows;
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) t[j * rows + i] = (Lane(0) - alpha[j]) * u[i];
            }
            products<true, false>(Matrix{n, columns, 1}, rows, Matrix{w, rows, 1}, columns, rows, team, from_zero,
                                  [&](int i, int j, Entry sum) { x[j * rows + i] = sum; });
            team.sync();
            keep(factor, t, rows, w, rows, first);
            team.sync();
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {
                const Lane weight = alpha[j] / squared_norm(x + j * rows, rows);  // of vectors as they are, not normalised
                WEYL_UNROLL
                for (int i = 0; i < rows; ++i) t[j * rows + i] = weight * x[j * rows + i];
            }
            team.sync();
            keep(factor, t, rows, x, rows, second);
        } else {
            const Real inverse_scale = half_space ? Real(1) : Real(1 / factor.scale);
            if constexpr (!half_space) {
                if (factor.learned) {
                    if (team.rank == 0) in_k = curvature_slope(factor, p, q, slopes);
                    team.sync();
                }
            }
            if (half_space || factor.learned) turn();  // otherwise `measure` has left it
            WEYL_UNROLL
            for (int j = team.rank; j < columns; j += team.size) {  // -w N V / |N V|
                const Lane square = squared_norm(t + j * columns, columns);
                // At the cut locus of a compact space, where the companion vanishes, there is no gradient: zero.
                const auto cut = square < Lane(half_space ? Real(0) : Real(1e-24));
                const Lane inverse = select(cut, Lane(0), Lane(1) / square_root(select(cut, Lane(1), square)));
                cosine[j] = inverse * Lane(inverse_scale) * slope(factor, slopes, j);
                WEYL_UNROLL
                for (int i = 0; i < columns; ++i) t[j * columns + i] = (Lane(0) - cosine[j]) * t[j * columns + i];
            }
            team.sync();
            keep(factor, x, rows, t, columns, first);
            team.sync();
            const auto scaled = [&](int i, int j, Entry sum) { t[j * rows + i] = cosine[j] * sum; };  // w a* U / |N V|
            const Matrix left{x, rows, 1};
            if constexpr (free) {
                products<true, false>(Matrix{a, rows, 1}, rows, left, columns, rows, team, from_zero, scaled);
            } else {
                products<false, false>(Matrix{n, columns, 1}, rows, left, columns, rows, team, from_zero, scaled);
            }
            team.sync();
            keep(factor, t, rows, w, columns, second);
        }
        team.sync();
        return in_k;
    }

    // The kept entries of left right*, row by row; of a Siegel space times i, as its points Z = iH are stored.
    WEYL_INLINE void keep(const PairFactor& factor, const Entry* left, int left_rows, const Entry* right, int right_rows,
                          Lane* out) const {
        const int block = factor.block;
        const int triangle = siegel || hermitian ? int(keep_upper) : free ? int(keep_all) : factor.triangle;
        const auto from = [&](int step) {
            return triangle == keep_all ? 0 : triangle == keep_upper ? step * block : step * block + 1;
        };
        const auto put = [&](int step, int j, Entry sum) {
            // entries of the rows before this one that are left out
            const int left_out = triangle == keep_all ? 0 : block * (step * (step - 1) / 2) + (from(step) - step * block) * step;
            Lane* const at = out + reals * (step * columns - left_out + j - from(step));
            if constexpr (is_complex) {
                at[0] = siegel ? Lane(0) - sum.im : sum.re;
                at[1] = siegel ? sum.re : sum.im;
            } else {
                at[0] = sum.re;
            }
        };
        products<false, true>(Matrix{left, block, left_rows}, rows / block, Matrix{right, 1, right_rows}, columns, columns, team, from, put);
    }

    // dF/dk at fixed points: d sigma_j / dk = -sigma_j (|Z1* A1^-* u_j|^2 + |Z2 B2^-* v_j|^2) / 2.
    WEYL_INLINE Lane curvature_slope(const PairFactor& factor, const Lane* p, const Lane* q, const Lane* slopes) {
        const int after_a = free ? Frame::reals(rows) : 0, after_b = after_a + Frame::reals(columns);
        const Frame a1{p, rows}, b2{q + after_a, columns};
        const Lane *z1 = p + after_b, *z2 = q + after_b;
        Lane total(0);
        for (int j = 0; j < columns; ++j) {
            solve_adjoint<!free>(a1, x + j * rows, t, rows);
            Lane sum(0);
            for (int i = 0; i < columns; ++i) {
                Entry inner = Entry::from(Lane(0));
                for (int r = 0; r < rows; ++r) inner = multiply_add(inner, conjugate(entry(z1, r * columns + i)), t[r]);
                sum = multiply_add_modulus(sum, inner);
            }
            solve_adjoint<false>(b2, w + j * columns, t, columns);
            for (int r = 0; r < rows; ++r) {
                Entry inner = Entry::from(Lane(0));
                for (int i = 0; i < columns; ++i) inner = multiply_add(inner, entry(z2, r * columns + i), t[i]);
                sum = multiply_add_modulus(sum, inner);
            }
            const auto cut = cosine[j] < Lane(Real(1e-12));
            const Lane in_sine = select(cut, Lane(0), Lane(1) / select(cut, Lane(1), cosine[j]));
            const Lane of_sine = Lane(Real(-0.5 * factor.scale)) * alpha[j] * sum * in_sine;
            total = total + slope(factor, slopes, j) * (in_curvature[j] + of_sine);
        }
        return Lane(Real(1) / Real(factor.copies)) * total;
    }

    // out = T^-* x (conjugated: T^-T x)
    template <bool conjugated>
    static WEYL_INLINE void solve_adjoint(const Frame& frame, const Entry* right, Entry* out, int size) {
        for (int i = size - 1; i >= 0; --i) {
            Entry sum = right[i];
            for (int k = i + 1; k < size; ++k) sum = multiply_subtract(sum, conjugate_if<!conjugated>(frame.below(k, i)), out[k]);
            out[i] = frame.inverse(i) * sum;
        }
    }
};

}  // namespace WEYL_VARIANT
}  // namespace weyl
