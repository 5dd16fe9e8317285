// The loop over a batch of pairs, compiled once for each instruction set (see CMakeLists.txt).
#include "pair_loops.hpp"
#include "pair_matrix.hpp"
#include "pair_norm.hpp"
#include "pair_objective.hpp"
#include "pair_vector.hpp"
#include "rows.hpp"
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

    const PairBatch& batch;
    Stage<Lane> stages[most_factors];
    Lane *p, *q, *v, *slopes, *out, *extras, *work;
    int learned_weights, out_size;

    PairLoop(const PairBatch& batch_, void* memory) : batch(batch_) {
        for (int f = 0; f < batch.factor_count; ++f) stages[f] = stage_for<Lane>(batch.factors[f]);
        p = static_cast<Lane*>(memory), q = p + batch.node_size, v = q + batch.node_size;
        slopes = v + batch.norm.components, out = slopes + batch.norm.components;
        extras = out + 2 * batch.gradient_size, work = extras + batch.extras;
        learned_weights = batch.norm.learned ? batch.norm.components : 0;
        out_size = 2 * batch.gradient_size + batch.extras;
    }

    static std::size_t workspace(const PairBatch& batch) {
        std::size_t count = 2 * std::size_t(batch.node_size) + 2 * std::size_t(batch.norm.components);
        count += 2 * std::size_t(batch.gradient_size) + std::size_t(batch.extras);
        for (int f = 0; f < batch.factor_count; ++f) count += stage_for<Lane>(batch.factors[f]).lanes;
        return count * sizeof(Lane);
    }

    int used(std::size_t at) const { return batch.count - at < lanes ? static_cast<int>(batch.count - at) : lanes; }

    // Distances of the pairs from `at` on; fills v and slopes.
    Lane forward(std::size_t at, bool gradients, Lane& gap) {
        const Real* const nodes = static_cast<const Real*>(batch.nodes);
        const Real *first[lanes], *second[lanes];
        for (int lane = 0; lane < lanes; ++lane) {
            const std::size_t pair = at + (lane < used(at) ? lane : 0);
            first[lane] = nodes + batch.first[pair] * std::int64_t(batch.node_size);
            second[lane] = nodes + batch.second[pair] * std::int64_t(batch.node_size);
        }
        gather_rows<Real, lanes>(first, batch.node_size, reinterpret_cast<Real*>(p));
        gather_rows<Real, lanes>(second, batch.node_size, reinterpret_cast<Real*>(q));
        Lane* memory = work;
        for (int f = 0; f < batch.factor_count; ++f) {
            const PairFactor& factor = batch.factors[f];
            stages[f].forward(factor, p + factor.node, q + factor.node, memory, v + factor.component, gradients);
            memory += stages[f].lanes;
            gap = maximum(gap, v[factor.component] - v[factor.component + factor.length - 1]);
        }
        return norm_of_vector(batch.norm, v, slopes, learned_weights ? extras : nullptr);
    }

    // From slopes to `out`: both gradients, and behind them what is learned beside the points.
    void backward() {
        Lane *memory = work, *curvature = extras + learned_weights;
        for (int f = 0; f < batch.factor_count; ++f) {
            const PairFactor& factor = batch.factors[f];
            const Lane in_k = stages[f].backward(factor, p + factor.node, q + factor.node, memory,
                                                 slopes + factor.component, out + factor.gradient,
                                                 out + batch.gradient_size + factor.gradient);
            memory += stages[f].lanes;
            if (factor.learned) *curvature++ = in_k;
        }
    }

    static double largest(Lane x) {
        double found = 0;
        for (int lane = 0; lane < lanes; ++lane) found = found < get_lane(x, lane) ? double(get_lane(x, lane)) : found;
        return found;
    }

    double run(std::size_t first_pack, std::size_t last_pack) {
        Lane gap(0);
        for (std::size_t pack = first_pack; pack < last_pack; ++pack) {
            const std::size_t at = pack * lanes;
            const Lane distance = forward(at, batch.gradients != nullptr, gap);
            if (batch.distances) {
                for (int l = 0; l < used(at); ++l) static_cast<Real*>(batch.distances)[at + l] = get_lane(distance, l);
            }
            if (batch.vectors) scatter(v, batch.norm.components, static_cast<Real*>(batch.vectors), at);
            if (!batch.gradients) continue;
            backward();
            scatter(out, out_size, static_cast<Real*>(batch.gradients), at);
        }
        return largest(gap);
    }

    void scatter(const Lane* values, int size, Real* to, std::size_t at) const {
        each_row<Real, lanes>(reinterpret_cast<const Real*>(values), size, used(at), [&](int lane) { return to + (at + lane) * size; },
                              [](Real* row, auto entries) { store(row, entries); });
    }

    void descend(PairDescent& descent) {
        const PairObjective& objective = descent.objective;
        const Real* const goals = static_cast<const Real*>(descent.goals);
        Real* const totals = static_cast<Real*>(descent.totals);
        const int size = batch.gradient_size;
        const Lane unit(Real(objective.unit));
        Lane gap(0);
        for (std::size_t at = 0; at < batch.count; at += lanes) {
            const int used = this->used(at);
            const Lane d = unit * forward(at, true, gap);
            Lane g(1);
            for (int lane = 0; lane < used; ++lane) set_lane(g, lane, goals[at + lane]);
            Lane slope, loss = loss_of_pair(objective, d, g, slope);
            const Lane with_unit = d * slope, upstream = unit * slope;
            for (int lane = 0; lane < used; ++lane) {
                descent.loss += double(get_lane(loss, lane)), descent.unit_slope += double(get_lane(with_unit, lane));
            }
            for (int c = 0; c < batch.norm.components; ++c) slopes[c] = upstream * slopes[c];
            for (int w = 0; w < learned_weights; ++w) extras[w] = upstream * extras[w];
            backward();
            const auto add = [](Real* row, auto entries) { add_to(row, entries); };
            each_row<Real, lanes>(reinterpret_cast<const Real*>(out), size, used,
                                  [&](int lane) { return totals + batch.first[at + lane] * size; }, add);
            each_row<Real, lanes>(reinterpret_cast<const Real*>(out + size), size, used,
                                  [&](int lane) { return totals + batch.second[at + lane] * size; }, add);
            for (int e = 0; e < batch.extras; ++e) {
                for (int lane = 0; lane < used; ++lane) descent.extras[e] += double(get_lane(extras[e], lane));
            }
        }
        descent.gap = largest(gap);
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
    return batch.is_double ? PairLoop<double>(batch, memory).run(first_pack, last_pack)
                           : PairLoop<float>(batch, memory).run(first_pack, last_pack);
}

static void descend(const PairBatch& batch, PairDescent& descent, void* memory) {
    descent.loss = descent.unit_slope = descent.gap = 0;
    batch.is_double ? PairLoop<double>(batch, memory).descend(descent) : PairLoop<float>(batch, memory).descend(descent);
}

}  // namespace WEYL_VARIANT

const PairVariant WEYL_JOIN(pairs_, WEYL_VARIANT) = {WEYL_TEXT(WEYL_VARIANT), supported, pair_lanes, pair_workspace,
                                                     run_pairs, descend, accumulate};

}  // namespace weyl
