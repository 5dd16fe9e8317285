// What Python says of a space and a norm, checked once and kept: the part of a batch that does not change from call to call.
#pragma once

#include <string>
#include <vector>

#include "arrays.hpp"
#include "pair_loops.hpp"

namespace weyl {

inline std::initializer_list<const PairVariant*> pair_variants() {  // best first
    static const std::initializer_list<const PairVariant*> all = {
#ifdef WEYL_WITH_X86_VARIANTS
        &pairs_avx512, &pairs_avx2,
#endif
        &pairs_portable};
    return all;
}

inline std::vector<PairFactor> factors_from(const ReadOnlyArray& integers, const ReadOnlyArray& reals) {
    constexpr int integers_of_factor = 12;
    if (integers.ndim() != 2 || integers.shape(0) < 1 || integers.shape(0) > most_factors) {
        throw nb::value_error(("between 1 and " + std::to_string(most_factors) + " factors expected").c_str());
    }
    const std::size_t count = integers.shape(0);
    const auto* whole = entries<std::int32_t>(integers, "factors", {count, integers_of_factor});
    const auto* real = entries<double>(reals, "curvatures and scales", {count, 2});
    std::vector<PairFactor> factors(count);
    for (std::size_t f = 0; f < count; ++f) {
        const std::int32_t* x = whole + f * integers_of_factor;
        factors[f] = {x[0], x[1], x[2], x[3], x[4],  x[5],  x[6],           x[7],
                      x[8], x[9], x[10], x[11], real[2 * f], real[2 * f + 1]};
    }
    return factors;
}

// Numbers of a gradient, and of a step: the entries that are kept.
inline int gradient_reals(const PairFactor& factor) {
    int kept = 0;
    for (int i = 0; i < factor.rows; i += factor.block) {
        kept += factor.columns - (factor.triangle == keep_all ? 0 : factor.triangle == keep_upper ? i : i + 1);
    }
    return factor.kind >= pair_euclidean ? factor.rows : kept * (factor.is_complex ? 2 : 1);
}

class PairProblem {
public:
    PairProblem(const ReadOnlyArray& factor_integers, const ReadOnlyArray& factor_reals, int gradient_size, int norm_kind,
                bool learned_weights, double p, const ReadOnlyArray& weights, const ReadOnlyArray& group_ends,
                const ReadOnlyArray& segment_ends)
        : factors_(factors_from(factor_integers, factor_reals)), gradient_size_(gradient_size) {
        norm_.kind = norm_kind, norm_.p = p, norm_.learned = learned_weights;
        norm_.components = factors_.back().component + factors_.back().length;
        const auto copy = [](auto& kept, const ReadOnlyArray& array, const char* name, std::size_t size) {
            using Value = typename std::decay_t<decltype(kept)>::value_type;
            const Value* from = entries<Value>(array, name, {size});
            kept.assign(from, from + size);
        };
        copy(weights_, weights, "weights", norm_kind == norm_power ? 0 : std::size_t(norm_.components));
        copy(group_ends_, group_ends, "group_ends", group_ends.size());
        copy(segment_ends_, segment_ends, "segment_ends", segment_ends.size());
        norm_.groups = static_cast<int>(group_ends_.size()), norm_.segments = static_cast<int>(segment_ends_.size());
    }

    const std::vector<PairFactor>& factors() const { return factors_; }

    // A batch that has all but its nodes and pairs; it points into this.
    PairBatch batch() const {
        PairBatch batch{};
        batch.factors = factors_.data(), batch.factor_count = static_cast<int>(factors_.size());
        batch.gradient_size = gradient_size_;
        batch.norm = norm_;
        batch.norm.weights = weights_.data(), batch.norm.ends = group_ends_.data();
        batch.norm.segment_ends = segment_ends_.data();
        batch.extras = norm_.learned ? norm_.components : 0;
        for (const PairFactor& factor : factors_) batch.extras += factor.learned;
        return batch;
    }

private:
    std::vector<PairFactor> factors_;
    int gradient_size_;
    PairNorm norm_{};
    std::vector<double> weights_;
    std::vector<int> group_ends_, segment_ends_;
};

template <class Nodes> void take_nodes(PairBatch& batch, const Nodes& nodes, int threads) {
    batch.is_double = nodes.dtype() == nb::dtype<double>();
    if (!batch.is_double && nodes.dtype() != nb::dtype<float>()) throw nb::type_error("nodes are neither float32 nor float64");
    if (nodes.ndim() != 2) throw nb::value_error("nodes must have shape (nodes, record)");
    if (threads < 1) throw nb::value_error("threads must be at least 1");
    check(nodes, "nodes", nodes.dtype(), {nodes.shape(0), nodes.shape(1)});
    batch.nodes = nodes.data();
    batch.node_size = static_cast<int>(nodes.shape(1));
}

inline void check_nodes(const std::int64_t* index, std::size_t count, std::size_t nodes, const char* name) {
    std::uint64_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) bad |= std::uint64_t(static_cast<std::uint64_t>(index[i]) >= nodes);
    if (!bad) return;
    for (std::size_t i = 0; i < count; ++i) {
        if (static_cast<std::uint64_t>(index[i]) >= nodes) {
            throw nb::index_error((std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(index[i]) +
                                   ", but there are " + std::to_string(nodes) + " nodes").c_str());
        }
    }
}

}  // namespace weyl
