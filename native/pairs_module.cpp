// The pair kernel for Python: distances, vectors and gradients of pairs of nodes, and their sums over nodes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <optional>

#include "pair_problem.hpp"
#include "threads.hpp"

namespace weyl {
namespace {

double pairs(const ReadOnlyArray& nodes, const ReadOnlyArray& first, const ReadOnlyArray& second,
             const PairProblem& problem, const std::optional<Array>& distances, const std::optional<Array>& vectors,
             const std::optional<Array>& gradients, int threads, const std::string& instruction_set) {
    PairBatch batch = problem.batch();
    take_nodes(batch, nodes, threads);
    batch.count = first.size();
    batch.first = entries<std::int64_t>(first, "first", {batch.count});
    batch.second = entries<std::int64_t>(second, "second", {batch.count});
    check_nodes(batch.first, batch.count, nodes.shape(0), "first");
    check_nodes(batch.second, batch.count, nodes.shape(0), "second");
    const auto output = [&](const std::optional<Array>& array, const char* name, std::vector<std::size_t> shape) -> void* {
        if (!array) return nullptr;
        check(*array, name, nodes.dtype(), shape);
        return array->data();
    };
    batch.distances = output(distances, "distances", {batch.count});
    batch.vectors = output(vectors, "vectors", {batch.count, std::size_t(batch.norm.components)});
    batch.gradients = output(gradients, "gradients", {batch.count, std::size_t(2 * batch.gradient_size + batch.extras)});
    const PairVariant& variant = variant_named(pair_variants(), instruction_set);
    if (batch.count == 0) return 0;

    const std::size_t lanes = static_cast<std::size_t>(variant.lanes(batch)), packs = (batch.count + lanes - 1) / lanes;
    const std::size_t grain = 1 + 20000 / (std::size_t(batch.node_size) * std::size_t(batch.node_size) + 1);
    std::atomic<double> gap{0};
    const nb::gil_scoped_release release;
    parallel_blocks(packs, grain, static_cast<std::size_t>(threads), variant.workspace(batch),
                    [&](std::size_t from, std::size_t to, void* workspace) {
                        const double found = variant.run(batch, from, to, workspace);
                        double known = gap.load();
                        while (known < found && !gap.compare_exchange_weak(known, found)) {
                        }
                    });
    return gap.load();
}

// Sums of upstream times what stands behind the gradients.
template <class Real> void add_extras(const PairSums& sums, double* totals) {
    const std::size_t stride = 2 * sums.size + sums.extras;
    const Real* const upstream = static_cast<const Real*>(sums.upstream);
    for (std::size_t pair = 0; sums.extras && pair < sums.count; ++pair) {
        const Real* const row = static_cast<const Real*>(sums.gradients) + pair * stride + 2 * sums.size;
        for (std::size_t e = 0; e < sums.extras; ++e) totals[e] += (upstream ? double(upstream[pair]) : 1.0) * double(row[e]);
    }
}

void accumulate_pairs(const ReadOnlyArray& gradients, const ReadOnlyArray& first, const ReadOnlyArray& second,
                      const std::optional<ReadOnlyArray>& upstream, const Array& totals, const Array& extra_totals,
                      int threads) {
    if (threads < 1) throw nb::value_error("threads must be at least 1");
    if (totals.ndim() != 2) throw nb::value_error("totals must have shape (nodes, gradient)");
    PairSums sums{};
    sums.is_double = totals.dtype() == nb::dtype<double>();
    if (!sums.is_double && totals.dtype() != nb::dtype<float>()) throw nb::type_error("totals are neither float32 nor float64");
    const std::size_t nodes = totals.shape(0);
    sums.count = first.size(), sums.size = totals.shape(1), sums.extras = extra_totals.size();
    check(totals, "totals", totals.dtype(), {nodes, sums.size});
    check(extra_totals, "extra_totals", nb::dtype<double>(), {sums.extras});
    check(gradients, "gradients", totals.dtype(), {sums.count, 2 * sums.size + sums.extras});
    if (upstream) check(*upstream, "upstream", totals.dtype(), {sums.count});
    sums.gradients = gradients.data(), sums.upstream = upstream ? upstream->data() : nullptr, sums.totals = totals.data();
    sums.first = entries<std::int64_t>(first, "first", {sums.count});
    sums.second = entries<std::int64_t>(second, "second", {sums.count});
    check_nodes(sums.first, sums.count, nodes, "first");
    check_nodes(sums.second, sums.count, nodes, "second");
    const PairVariant& variant = variant_named(pair_variants(), "");
    double* const extra_sums = static_cast<double*>(extra_totals.data());

    const nb::gil_scoped_release release;
    const std::size_t useful = std::min<std::size_t>(static_cast<std::size_t>(threads), 1 + sums.count * sums.size / 20000);
    std::size_t owners = 1;
    while (owners < useful) owners *= 2;
    parallel_blocks(owners, 1, useful, 1, [&](std::size_t from, std::size_t to, void*) {
        for (std::size_t owner = from; owner < to; ++owner) variant.accumulate(sums, owner, owners - 1);
    });
    sums.is_double ? add_extras<double>(sums, extra_sums) : add_extras<float>(sums, extra_sums);
}

}  // namespace

void bind_pairs(nb::module_& module) {
    nb::class_<PairProblem>(module, "PairProblem", "What is measured: the factors of a space, and a norm.")
        .def(nb::init<const ReadOnlyArray&, const ReadOnlyArray&, int, int, bool, double, const ReadOnlyArray&,
                      const ReadOnlyArray&, const ReadOnlyArray&>(),
             nb::arg("factors"), nb::arg("factor_reals"), nb::arg("gradient_size"), nb::arg("norm_kind"),
             nb::arg("learned_weights"), nb::arg("p"), nb::arg("weights"), nb::arg("group_ends"), nb::arg("segment_ends"));
    module.def("pairs", &pairs, nb::arg("nodes"), nb::arg("first"), nb::arg("second"), nb::arg("problem"),
               nb::arg("distances").none(), nb::arg("vectors").none(), nb::arg("gradients").none(), nb::arg("threads"),
               nb::arg("instruction_set") = "",
               "Fills distances, vectors and gradients of pairs of nodes, those that are given; returns the largest gap "
               "between components of one vector-valued distance.");
    module.def("accumulate", &accumulate_pairs, nb::arg("gradients"), nb::arg("first"), nb::arg("second"),
               nb::arg("upstream").none(), nb::arg("totals"), nb::arg("extra_totals"), nb::arg("threads"),
               "Adds upstream times the gradients of pairs to the totals of their nodes, in the order of the pairs.");
}

}  // namespace weyl
