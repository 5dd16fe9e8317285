// The loop over a batch of pairs, compiled once for each instruction set (see CMakeLists.txt).
#include "pair_loops.hpp"
#include "pair_matrix.hpp"
#include "pair_norm.hpp"
#include "pair_vector.hpp"
#include "variant.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

// What a pack of pairs goes through in one factor, behind plain function pointers: chosen once a batch.
template <class Lane> struct Stage {
    void (*forward)(const PairFactor&, const Lane* p, const Lane* q, Lane* memory, Lane* v, bool gradients);
    Lane (*backward)(const PairFactor&, const Lane* p, const Lane* q, Lane* memory, const Lane* slopes, Lane* first,
                     Lane* second);
    int lanes;  // of memory
};

template <class Pair, class Lane> Stage<Lane> stage_of(int lanes) {
    return {[](const PairFactor& factor, const Lane* p, const Lane* q, Lane* memory, Lane* v, bool gradients) {
                Pair(factor, memory).forward(factor, p, q, v, gradients);
            },
            [](const PairFactor& factor, const Lane* p, const Lane* q, Lane* memory, const Lane* slopes, Lane* first,
               Lane* second) { return Pair(factor, memory).backward(factor, p, q, slopes, first, second); },
            lanes};
}

template <class Lane, int kind, bool is_complex, int size> Stage<Lane> matrix_stage(const PairFactor& factor) {
    using Pair = MatrixPair<Lane, kind, is_complex, size, size>;
    return stage_of<Pair, Lane>(Pair::workspace(factor.rows, factor.columns));
}

template <class Lane, int kind> Stage<Lane> vector_stage(const PairFactor& factor) {
    using Pair = VectorPair<Lane, kind, 0>;
    return stage_of<Pair, Lane>(Pair::workspace(factor.rows));
}

template <class Lane, int kind, bool is_complex> Stage<Lane> sized_stage(const PairFactor& factor) {
    const int size = factor.rows == factor.columns && factor.block == 1 ? factor.rows : 0;
    switch (size) {
        case 1: return matrix_stage<Lane, kind, is_complex, 1>(factor);
        case 2: return matrix_stage<Lane, kind, is_complex, 2>(factor);
        case 3: return matrix_stage<Lane, kind, is_complex, 3>(factor);
        case 4: return matrix_stage<Lane, kind, is_complex, 4>(factor);
        case 5: return matrix_stage<Lane, kind, is_complex, 5>(factor);
        case 6: return matrix_stage<Lane, kind, is_complex, 6>(factor);
        case 7: return matrix_stage<Lane, kind, is_complex, 7>(factor);
        case 8: return matrix_stage<Lane, kind, is_complex, 8>(factor);
        default: return matrix_stage<Lane, kind, is_complex, 0>(factor);
    }
}

template <class Lane> Stage<Lane> stage_for(const PairFactor& factor) {
    switch (factor.kind) {
        case pair_siegel: return sized_stage<Lane, pair_siegel, true>(factor);
        case pair_positive:
            return factor.is_complex ? sized_stage<Lane, pair_positive, true>(factor)
                                     : sized_stage<Lane, pair_positive, false>(factor);
        case pair_ball:
            return factor.is_complex ? sized_stage<Lane, pair_ball, true>(factor)
                                     : sized_stage<Lane, pair_ball, false>(factor);
        case pair_ball_symmetric: return sized_stage<Lane, pair_ball_symmetric, true>(factor);
        case pair_euclidean: return vector_stage<Lane, pair_euclidean>(factor);
        case pair_hyperbolic: return vector_stage<Lane, pair_hyperbolic>(factor);
        default: return vector_stage<Lane, pair_sphere>(factor);
    }
}

template <class Real> struct PairLoop {
    using Lane = LaneOf<Real>;
    static constexpr int lanes = LaneTraits<Lane>::width;

    static std::size_t workspace(const PairBatch& batch) {
        std::size_t count = 2 * std::size_t(batch.node_size) + 2 * std::size_t(batch.norm.components);
        count += 2 * std::size_t(batch.gradient_size) + std::size_t(batch.extras);
        for (int f = 0; f < batch.factor_count; ++f) count += stage_for<Lane>(batch.factors[f]).lanes;
        return count * sizeof(Lane);
    }

    // One node of every lane: lane l of out[e] is entry e of node index[l].
    static void gather(const Real* nodes, int size, const std::int64_t* index, int used, Lane* out) {
        const Real* rows[lanes];
        for (int lane = 0; lane < lanes; ++lane) rows[lane] = nodes + index[lane < used ? lane : 0] * std::int64_t(size);
        Real* const flat = reinterpret_cast<Real*>(out);
        for (int e = 0; e < size; ++e) {
            for (int lane = 0; lane < lanes; ++lane) flat[e * lanes + lane] = rows[lane][e];
        }
    }

    static double run(const PairBatch& batch, std::size_t first_pack, std::size_t last_pack, void* memory) {
        Stage<Lane> stages[most_factors];
        for (int f = 0; f < batch.factor_count; ++f) stages[f] = stage_for<Lane>(batch.factors[f]);
        Lane* const p = static_cast<Lane*>(memory);
        Lane* const q = p + batch.node_size;
        Lane* const v = q + batch.node_size;
        Lane* const slopes = v + batch.norm.components;
        Lane* const out = slopes + batch.norm.components;
        Lane* const extras = out + 2 * batch.gradient_size;
        Lane* const work = extras + batch.extras;
        const int out_size = 2 * batch.gradient_size + batch.extras;
        const int learned_weights = batch.norm.learned ? batch.norm.components : 0;
        double gap = 0;

        for (std::size_t pack = first_pack; pack < last_pack; ++pack) {
            const std::size_t at = pack * lanes;
            const int used = batch.count - at < lanes ? static_cast<int>(batch.count - at) : lanes;
            gather(static_cast<const Real*>(batch.nodes), batch.node_size, batch.first + at, used, p);
            gather(static_cast<const Real*>(batch.nodes), batch.node_size, batch.second + at, used, q);
            Lane* memory_of_factor = work;
            for (int f = 0; f < batch.factor_count; ++f) {
                const PairFactor& factor = batch.factors[f];
                stages[f].forward(factor, p + factor.node, q + factor.node, memory_of_factor, v + factor.component,
                                  batch.gradients != nullptr);
                memory_of_factor += stages[f].lanes;
                const Lane spread = v[factor.component] - v[factor.component + factor.length - 1];
                for (int lane = 0; lane < used; ++lane) {
                    const double found = get_lane(spread, lane);
                    gap = gap < found ? found : gap;
                }
            }
            const Lane distance = norm_of_vector(batch.norm, v, slopes, learned_weights ? extras : nullptr);
            if (batch.distances) {
                for (int l = 0; l < used; ++l) static_cast<Real*>(batch.distances)[at + l] = get_lane(distance, l);
            }
            if (batch.vectors) scatter(v, batch.norm.components, used, static_cast<Real*>(batch.vectors), at);
            if (!batch.gradients) continue;
            memory_of_factor = work;
            Lane* curvature = extras + learned_weights;
            for (int f = 0; f < batch.factor_count; ++f) {
                const PairFactor& factor = batch.factors[f];
                const Lane in_k = stages[f].backward(factor, p + factor.node, q + factor.node, memory_of_factor,
                                                     slopes + factor.component, out + factor.gradient,
                                                     out + batch.gradient_size + factor.gradient);
                memory_of_factor += stages[f].lanes;
                if (factor.learned) *curvature++ = in_k;
            }
            scatter(out, out_size, used, static_cast<Real*>(batch.gradients), at);
        }
        return gap;
    }

    static void scatter(const Lane* values, int size, int used, Real* out, std::size_t at) {
        const Real* const flat = reinterpret_cast<const Real*>(values);
        for (int lane = 0; lane < used; ++lane) {
            Real* const row = out + (at + lane) * size;
            for (int e = 0; e < size; ++e) row[e] = flat[e * lanes + lane];
        }
    }
};

template <class Real> WEYL_INLINE void add_row(Real* total, const Real* row, Real scale, std::size_t size) {
    constexpr std::size_t width = 16 / sizeof(Real);
    typedef Real Four __attribute__((vector_size(16), aligned(sizeof(Real)), may_alias));
    std::size_t e = 0;
    for (; e + width <= size; e += width) {
        *reinterpret_cast<Four*>(total + e) += scale * *reinterpret_cast<const Four*>(row + e);
    }
    for (; e < size; ++e) total[e] += scale * row[e];
}

template <class Real> void accumulate_as(const PairSums& sums, std::size_t owner, std::size_t mask) {
    const std::size_t size = sums.size, stride = 2 * size + sums.extras;
    const Real* const upstream = static_cast<const Real*>(sums.upstream);
    Real* const totals = static_cast<Real*>(sums.totals);
    const Real* row = static_cast<const Real*>(sums.gradients);
    for (std::size_t pair = 0; pair < sums.count; ++pair, row += stride) {
        const auto i = static_cast<std::size_t>(sums.first[pair]), j = static_cast<std::size_t>(sums.second[pair]);
        const Real scale = upstream ? upstream[pair] : Real(1);
        if ((i & mask) == owner) add_row(totals + i * size, row, scale, size);
        if ((j & mask) == owner) add_row(totals + j * size, row + size, scale, size);
    }
}

static void accumulate(const PairSums& sums, std::size_t owner, std::size_t mask) {
    sums.is_double ? accumulate_as<double>(sums, owner, mask) : accumulate_as<float>(sums, owner, mask);
}

static int pair_lanes(const PairBatch& batch) {
    return batch.is_double ? PairLoop<double>::lanes : PairLoop<float>::lanes;
}

static std::size_t pair_workspace(const PairBatch& batch) {
    return batch.is_double ? PairLoop<double>::workspace(batch) : PairLoop<float>::workspace(batch);
}

static double run_pairs(const PairBatch& batch, std::size_t first_pack, std::size_t last_pack, void* memory) {
    return batch.is_double ? PairLoop<double>::run(batch, first_pack, last_pack, memory)
                           : PairLoop<float>::run(batch, first_pack, last_pack, memory);
}

}  // namespace WEYL_VARIANT

const PairVariant WEYL_JOIN(pairs_, WEYL_VARIANT) = {WEYL_TEXT(WEYL_VARIANT), supported, pair_lanes, pair_workspace,
                                                     run_pairs, accumulate};

}  // namespace weyl
