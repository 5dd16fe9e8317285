// The pair kernel on a GPU: the same headers with one number a lane. weyl/kernels/cuda.py writes the few lines that name
// the parts of a space, and has them compiled when they are first used.
//
// Small matrices: a thread a pair, everything in registers. Large ones: a team of threads a pair, which shares the columns
// of matrices in shared memory.
#pragma once

#include "pair_matrix.hpp"
#include "pair_norm.hpp"
#include "pair_vector.hpp"

namespace weyl {

struct ThreadTeam {
    static constexpr int together = 1;
    static constexpr bool in_blocks = false;
    int rank, size;
    unsigned mask;
    __device__ __forceinline__ void sync() const { __syncwarp(mask); }
    __device__ __forceinline__ bool any(bool mine) const { return __any_sync(mask, mine); }
};

template <int size> __device__ __forceinline__ ThreadTeam team_of_this_thread() {
    const int lane = threadIdx.x % 32, rank = lane % size;
    const unsigned all = size == 32 ? 0xffffffffu : (1u << (size % 32)) - 1u;
    return {rank, size, all << (lane - rank)};
}

// One factor, with the sizes that are known when the kernel is compiled.
template <class Real, class Team, int kind, bool is_complex, int rows, int columns> struct GpuPart {
    static constexpr bool vector = kind >= pair_euclidean;
    template <bool is_vector, class Unused> struct Choice { using Pair = VectorPair<Real, kind, rows>; };
    template <class Unused> struct Choice<false, Unused> {
        using Pair = MatrixPair<Real, kind, is_complex, rows, columns, Team>;
    };
    using Pair = typename Choice<vector, void>::Pair;

    static constexpr __device__ int lanes() {
        if constexpr (vector) {
            return Pair::workspace(rows);
        } else {
            return Pair::workspace(rows, columns);
        }
    }

    static __device__ __forceinline__ Pair pair(const PairFactor& factor, Real* memory, const Team& team) {
        if constexpr (vector) {
            return Pair(factor, memory);
        } else {
            return Pair(factor, memory, team);
        }
    }
};

template <class Real, class Team, class... Parts> struct GpuPairs;

template <class Real, class Team> struct GpuPairs<Real, Team> {
    static constexpr __device__ int lanes() { return 0; }
    static __device__ __forceinline__ Real forward(const double*, Real*, const Real*, const Real*, Real*, bool, const Team&) {
        return Real(0);
    }
    static __device__ __forceinline__ void backward(const double*, Real*, const Real*, const Real*, const Real*, Real*, Real*,
                                                    Real*, const Team&) {}
};

template <class Real, class Team, class First, class... Rest> struct GpuPairs<Real, Team, First, Rest...> {
    using Others = GpuPairs<Real, Team, Rest...>;
    static constexpr __device__ int lanes() { return First::Part::lanes() + Others::lanes(); }

    // The vector-valued distance; returns the largest gap between components of one factor.
    static __device__ __forceinline__ Real forward(const double* curvatures, Real* memory, const Real* p, const Real* q,
                                                   Real* v, bool gradients, const Team& team) {
        const PairFactor factor = First::factor(curvatures);
        if (!First::Part::vector || team.rank == 0) {
            First::Part::pair(factor, memory, team)
                .forward(factor, p + factor.node, q + factor.node, v + factor.component, gradients);
        }
        team.sync();
        const Real gap = v[factor.component] - v[factor.component + factor.length - 1];
        return maximum(gap, Others::forward(curvatures, memory + First::Part::lanes(), p, q, v, gradients, team));
    }

    static __device__ __forceinline__ void backward(const double* curvatures, Real* memory, const Real* p, const Real* q,
                                                    const Real* slopes, Real* first, Real* second, Real* extras,
                                                    const Team& team) {
        const PairFactor factor = First::factor(curvatures);
        Real in_k(0);
        if (!First::Part::vector || team.rank == 0) {
            in_k = First::Part::pair(factor, memory, team)
                       .backward(factor, p + factor.node, q + factor.node, slopes + factor.component,
                                 first + factor.gradient, second + factor.gradient);
        }
        if (factor.learned && team.rank == 0) *extras = in_k;
        Others::backward(curvatures, memory + First::Part::lanes(), p, q, slopes, first, second, extras + factor.learned,
                         team);
    }
};

// For non-negative numbers the order of the bits is the order of the values.
__device__ __forceinline__ void raise_to(float* place, float value) {
    if (value > *place) atomicMax(reinterpret_cast<int*>(place), __float_as_int(value));
}
__device__ __forceinline__ void raise_to(double* place, double value) {
    if (value > *place) atomicMax(reinterpret_cast<long long*>(place), __double_as_longlong(value));
}

// Copies with 16 bytes a step where the row allows it; `size` is a constant, so rows are aligned alike.
template <int size, class Real> __device__ __forceinline__ void copy_row(Real* to, const Real* from) {
    constexpr int width = 16 / sizeof(Real);
    struct alignas(16) Four {
        Real x[width];
    };
    if constexpr (size % width == 0) {
#pragma unroll
        for (int e = 0; e < size; e += width) {
            Four four;
#pragma unroll
            for (int i = 0; i < width; ++i) four.x[i] = from[e + i];
            *reinterpret_cast<Four*>(to + e) = four;
        }
    } else {
#pragma unroll
        for (int e = 0; e < size; ++e) to[e] = from[e];
    }
}

struct PairsArguments {
    const void* nodes;
    const std::int64_t *first, *second;
    std::int64_t count;
    void *distances, *vectors, *gradients, *gap;
    const double *curvatures, *weights;
    void* scratch;  // memory for the teams of one launch, where shared memory is too small; or null
};

// Settings: node_size, gradient_size, components, extras, norm(weights).
template <class Real, class Settings, bool gradients, class... Parts>
__device__ __forceinline__ void pairs_by_threads(const PairsArguments& x) {
    const std::int64_t at = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
    if (at >= x.count) return;
    using Pairs = GpuPairs<Real, Alone, Parts...>;
    constexpr int row = 2 * Settings::gradient_size + Settings::extras;
    Real p[Settings::node_size], q[Settings::node_size], v[Settings::components], slopes[Settings::components];
    Real memory[Pairs::lanes()], out[row];
    const Real* const nodes = static_cast<const Real*>(x.nodes);
#pragma unroll
    for (int e = 0; e < Settings::node_size; ++e) {
        p[e] = __ldg(nodes + x.first[at] * Settings::node_size + e);
        q[e] = __ldg(nodes + x.second[at] * Settings::node_size + e);
    }
    const Alone alone;
    raise_to(static_cast<Real*>(x.gap), Pairs::forward(x.curvatures, memory, p, q, v, gradients, alone));
    Real* const extras = out + 2 * Settings::gradient_size;
    const PairNorm norm = Settings::norm(x.weights);
    const Real distance = norm_of_vector(norm, v, slopes, gradients && Settings::learned_weights ? extras : static_cast<Real*>(nullptr));
    if (x.distances) static_cast<Real*>(x.distances)[at] = distance;
    if (x.vectors) {
#pragma unroll
        for (int c = 0; c < Settings::components; ++c) {
            static_cast<Real*>(x.vectors)[at * Settings::components + c] = v[c];
        }
    }
    if constexpr (!gradients) return;
    Pairs::backward(x.curvatures, memory, p, q, slopes, out, out + Settings::gradient_size,
                    extras + (Settings::learned_weights ? Settings::components : 0), alone);
    copy_row<row>(static_cast<Real*>(x.gradients) + at * row, out);
}

// Numbers that a team needs.
template <class Real, class Settings, class... Parts> constexpr __device__ int numbers_of_team() {
    return 2 * Settings::node_size + 2 * Settings::components + GpuPairs<Real, ThreadTeam, Parts...>::lanes();
}

template <class Real, class Settings, bool gradients, int team_size, class... Parts>
__device__ __forceinline__ void pairs_by_teams(const PairsArguments& x) {
    extern __shared__ double shared[];
    using Pairs = GpuPairs<Real, ThreadTeam, Parts...>;
    constexpr int row = 2 * Settings::gradient_size + Settings::extras;
    constexpr int own = numbers_of_team<Real, Settings, Parts...>();
    const ThreadTeam team = team_of_this_thread<team_size>();
    const std::int64_t teams = blockDim.x / team_size, number = threadIdx.x / team_size;
    const std::int64_t at = blockIdx.x * teams + number;
    if (at >= x.count) return;
    Real* const p = x.scratch ? static_cast<Real*>(x.scratch) + at * own : reinterpret_cast<Real*>(shared) + number * own;
    Real *const q = p + Settings::node_size, *const v = q + Settings::node_size;
    Real *const slopes = v + Settings::components, *const memory = slopes + Settings::components;
    const Real* const nodes = static_cast<const Real*>(x.nodes);
    const std::int64_t i = x.first[at], j = x.second[at];
    for (int e = team.rank; e < Settings::node_size; e += team_size) {
        p[e] = __ldg(nodes + i * Settings::node_size + e);
        q[e] = __ldg(nodes + j * Settings::node_size + e);
    }
    team.sync();
    const Real gap = Pairs::forward(x.curvatures, memory, p, q, v, gradients, team);
    team.sync();
    Real* const out = gradients ? static_cast<Real*>(x.gradients) + at * row : nullptr;
    Real* const extras = out ? out + 2 * Settings::gradient_size : nullptr;
    if (team.rank == 0) {
        raise_to(static_cast<Real*>(x.gap), gap);
        const PairNorm norm = Settings::norm(x.weights);
        const Real distance = norm_of_vector(norm, v, slopes, gradients && Settings::learned_weights ? extras : static_cast<Real*>(nullptr));
        if (x.distances) static_cast<Real*>(x.distances)[at] = distance;
        if (x.vectors) {
            for (int c = 0; c < Settings::components; ++c) {
                static_cast<Real*>(x.vectors)[at * Settings::components + c] = v[c];
            }
        }
    }
    team.sync();
    if constexpr (!gradients) return;
    Pairs::backward(x.curvatures, memory, p, q, slopes, out, out + Settings::gradient_size,
                    extras + (Settings::learned_weights ? Settings::components : 0), team);
}

// totals[node] += upstream * gradient, a thread for `width` numbers of a pair's row.
template <class Real, int gradient_size>
__device__ __forceinline__ void accumulate_row(const Real* gradients, int row, const std::int64_t* first,
                                               const std::int64_t* second, const Real* upstream, std::int64_t count,
                                               Real* totals) {
    constexpr int width = sizeof(Real) == 4 && gradient_size % 4 == 0 ? 4 : 1, steps = 2 * gradient_size / width;
    const std::int64_t at = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x, pair = at / steps;
    if (pair >= count) return;
    const int e = int(at % steps) * width;
    const bool late = e >= gradient_size;
    const Real scale = upstream ? upstream[pair] : Real(1);
    const Real* const from = gradients + pair * row + e;
    Real* const to = totals + (late ? second : first)[pair] * gradient_size + e - (late ? gradient_size : 0);
#if __CUDA_ARCH__ >= 900
    if constexpr (width == 4) {
        atomicAdd(reinterpret_cast<float4*>(to),
                  make_float4(scale * from[0], scale * from[1], scale * from[2], scale * from[3]));
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < width; ++i) atomicAdd(to + i, scale * from[i]);
}

}  // namespace weyl
