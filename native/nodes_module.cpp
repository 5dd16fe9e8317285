// Moving nodes, for Python.
#include <nanobind/stl/string.h>

#include "node_batch.hpp"
#include "pair_problem.hpp"
#include "threads.hpp"

namespace weyl {

std::initializer_list<const NodeVariant*> node_variants() {  // best first
    static const std::initializer_list<const NodeVariant*> all = {
#ifdef WEYL_WITH_X86_VARIANTS
        &nodes_avx512, &nodes_avx2,
#endif
        &nodes_portable};
    return all;
}

namespace {

void move(const Array& records, const ReadOnlyArray& steps, const ReadOnlyArray& factor_integers,
          const ReadOnlyArray& factor_reals, int part, bool unimodular, double longest,
          int threads, const std::string& instruction_set) {
    if (records.ndim() != 2 || steps.ndim() != 2) throw nb::value_error("records and steps must have two axes");
    const std::vector<PairFactor> factors = factors_from(factor_integers, factor_reals);
    if (part < 0 || part >= static_cast<int>(factors.size())) throw nb::value_error("there is no such factor");
    const std::size_t count = records.shape(0);
    NodeBatch batch{};
    batch.records = entries<double>(records, "records", {count, records.shape(1)});
    batch.steps = entries<double>(steps, "steps", {count, steps.shape(1)});
    if (threads < 1) throw nb::value_error("threads must be at least 1");
    batch.count = count, batch.factor = factors[part], batch.factor.node = batch.factor.gradient = 0;
    batch.node_size = static_cast<int>(records.shape(1)), batch.step_size = static_cast<int>(steps.shape(1));
    batch.unimodular = unimodular, batch.longest = longest;
    const NodeVariant& variant = variant_named(node_variants(), instruction_set);
    const int reals = variant.node_reals(batch.factor);
    if (reals == 0) throw nb::value_error("nodes of such a factor cannot be moved");
    if (reals != batch.node_size || gradient_reals(batch.factor) != batch.step_size) {
        throw nb::value_error("records or steps do not fit the factor");
    }
    if (count == 0) return;
    const std::size_t size = static_cast<std::size_t>(batch.factor.rows);
    const std::size_t lanes = static_cast<std::size_t>(variant.lanes()), packs = (count + lanes - 1) / lanes;
    const std::size_t grain = 1 + 20000 / (size * size * size + 1);
    const nb::gil_scoped_release release;
    parallel_blocks(packs, grain, static_cast<std::size_t>(threads), variant.workspace(batch),
                    [&](std::size_t from, std::size_t to, void* workspace) { variant.run(batch, from, to, workspace); });
}

}  // namespace

void bind_nodes(nb::module_& module) {
    module.def("move", &move, nb::arg("records"), nb::arg("steps"), nb::arg("factors"), nb::arg("factor_reals"), nb::arg("part"),
               nb::arg("unimodular"), nb::arg("longest"), nb::arg("threads"), nb::arg("instruction_set") = "",
               "Moves the nodes of one factor along tangent vectors in their frames, in place.");
}

}  // namespace weyl
