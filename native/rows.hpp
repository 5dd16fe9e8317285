// Between rows in memory and lanes: row l of a few rows is lane l of as many lanes as a row has entries. Four rows and four
// entries at a time where there are registers for it: one number at a time takes as long as a Jacobi sweep.
#pragma once

#include "lanes.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

#if defined(WEYL_HAS_PACKS) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define WEYL_HAS_SHUFFLES 1
#endif
#endif

template <class Real> WEYL_INLINE void store(Real* to, Real x) { *to = x; }
template <class Real> WEYL_INLINE void add_to(Real* to, Real x) { *to += x; }

#if defined(WEYL_HAS_SHUFFLES)

template <class Real> struct Quad {
    typedef Real Register __attribute__((vector_size(4 * sizeof(Real))));
    typedef Real Anywhere __attribute__((vector_size(4 * sizeof(Real)), aligned(sizeof(Real)), may_alias));
    Register entries;

    static WEYL_INLINE Quad load(const Real* from) { return {Register(*reinterpret_cast<const Anywhere*>(from))}; }
    friend WEYL_INLINE void store(Real* to, Quad x) { *reinterpret_cast<Anywhere*>(to) = Anywhere(x.entries); }
    friend WEYL_INLINE void add_to(Real* to, Quad x) { *reinterpret_cast<Anywhere*>(to) += Anywhere(x.entries); }
};

template <class Real> WEYL_INLINE void transpose(Quad<Real>* x) {
    const auto a = __builtin_shufflevector(x[0].entries, x[1].entries, 0, 4, 1, 5);
    const auto b = __builtin_shufflevector(x[0].entries, x[1].entries, 2, 6, 3, 7);
    const auto c = __builtin_shufflevector(x[2].entries, x[3].entries, 0, 4, 1, 5);
    const auto d = __builtin_shufflevector(x[2].entries, x[3].entries, 2, 6, 3, 7);
    x[0].entries = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    x[1].entries = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    x[2].entries = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    x[3].entries = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

#endif

// flat[e * lanes + l] = rows[l][e]
template <class Real, int lanes> WEYL_INLINE void gather_rows(const Real* const* rows, int size, Real* flat) {
    int e = 0;
#if defined(WEYL_HAS_SHUFFLES)
    if constexpr (lanes % 4 == 0) {
        for (; e + 4 <= size; e += 4) {
            for (int lane = 0; lane < lanes; lane += 4) {
                Quad<Real> x[4];
                for (int i = 0; i < 4; ++i) x[i] = Quad<Real>::load(rows[lane + i] + e);
                transpose(x);
                for (int i = 0; i < 4; ++i) store(flat + (e + i) * lanes + lane, x[i]);
            }
        }
    }
#endif
    for (; e < size; ++e) {
        for (int lane = 0; lane < lanes; ++lane) flat[e * lanes + lane] = rows[lane][e];
    }
}

// put(row(l) + e, entries e, … of lane l) for the lanes in use, in their order
template <class Real, int lanes, class Row, class Put>
WEYL_INLINE void each_row(const Real* flat, int size, int used, const Row& row, const Put& put) {
    int e = 0;
#if defined(WEYL_HAS_SHUFFLES)
    if constexpr (lanes % 4 == 0) {
        for (int lane = 0; lane < used; lane += 4) {
            const int group = used - lane < 4 ? used - lane : 4;
            Real* to[4];
            for (int i = 0; i < group; ++i) to[i] = row(lane + i);
            for (e = 0; e + 4 <= size; e += 4) {
                Quad<Real> x[4];
                for (int i = 0; i < 4; ++i) x[i] = Quad<Real>::load(flat + (e + i) * lanes + lane);
                transpose(x);
                for (int i = 0; i < group; ++i) put(to[i] + e, x[i]);
            }
        }
    }
#endif
    for (int lane = 0; lane < used; ++lane) {
        for (int rest = e; rest < size; ++rest) put(row(lane) + rest, flat[rest * lanes + lane]);
    }
}

}  // namespace WEYL_VARIANT
}  // namespace weyl
