// Moving nodes, for Python.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "node_batch.hpp"
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

void move(const Array& records, const ReadOnlyArray& steps, int kind, bool is_complex, int size, int block, int node,
          int gradient, bool unimodular, double longest, int threads, const std::string& instruction_set) {
    if (records.ndim() != 2 || steps.ndim() != 2) throw nb::value_error("records and steps must have two axes");
    const std::size_t count = records.shape(0);
    check(records, "records", nb::dtype<double>(), {count, records.shape(1)});
    check(steps, "steps", nb::dtype<double>(), {count, steps.shape(1)});
    if (threads < 1) throw nb::value_error("threads must be at least 1");
    const bool siegel = kind == pair_siegel;
    const int below = size * (size - 1) / 2, whole = size * (size + 1) / 2;
    const int node_reals = 2 * size + (is_complex && !siegel ? 2 : 1) * below + (siegel ? whole : 0);
    int kept = 0;
    for (int i = 0; i < size; i += block) kept += size - i;
    const int step_reals = kept * (is_complex ? 2 : 1);
    if ((kind != pair_siegel && kind != pair_positive) || size < 1 || (block != 1 && block != 2) || size % block != 0 ||
        node < 0 || gradient < 0 || node + node_reals > static_cast<int>(records.shape(1)) ||
        gradient + step_reals > static_cast<int>(steps.shape(1))) {
        throw nb::value_error("the factor does not fit into records and steps");
    }
    NodeBatch batch{};
    batch.records = static_cast<double*>(records.data()), batch.steps = static_cast<const double*>(steps.data());
    batch.count = count;
    batch.node_size = static_cast<int>(records.shape(1)), batch.step_size = static_cast<int>(steps.shape(1));
    batch.factor.kind = kind, batch.factor.is_complex = is_complex, batch.factor.rows = size, batch.factor.columns = size;
    batch.factor.block = block, batch.factor.node = node, batch.factor.gradient = gradient;
    batch.unimodular = unimodular, batch.longest = longest;
    const NodeVariant& variant = variant_named(node_variants(), instruction_set);
    if (count == 0) return;
    const std::size_t lanes = static_cast<std::size_t>(variant.lanes()), packs = (count + lanes - 1) / lanes;
    const std::size_t grain = 1 + 20000 / (std::size_t(size) * std::size_t(size) * std::size_t(size) + 1);
    const nb::gil_scoped_release release;
    parallel_blocks(packs, grain, static_cast<std::size_t>(threads), variant.workspace(batch),
                    [&](std::size_t from, std::size_t to, void* workspace) { variant.run(batch, from, to, workspace); });
}

}  // namespace

void bind_nodes(nb::module_& module) {
    module.def("move", &move, nb::arg("records"), nb::arg("steps"), nb::arg("kind"), nb::arg("is_complex"), nb::arg("size"),
               nb::arg("block"), nb::arg("node"), nb::arg("gradient"), nb::arg("unimodular"), nb::arg("longest"),
               nb::arg("threads"), nb::arg("instruction_set") = "",
               "Moves the nodes of one half space along tangent vectors in their frames, in place.");
}

}  // namespace weyl
