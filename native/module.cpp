// The Python module weyl._native: checks what it is given, then hands plain pointers to the compiled loops.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arrays.hpp"
#include "svd_batch.hpp"
#include "threads.hpp"

namespace {

namespace nb = nanobind;
using weyl::Array, weyl::ReadOnlyArray, weyl::check;

constexpr int largest_side = 1024;

std::initializer_list<const weyl::SvdVariant*> variants() {  // best first
    static const std::initializer_list<const weyl::SvdVariant*> all = {
#ifdef WEYL_WITH_X86_VARIANTS
        &weyl::svd_avx512, &weyl::svd_avx2,
#endif
        &weyl::svd_portable};
    return all;
}

void singular_value_decomposition(const ReadOnlyArray& C, const Array& U, const Array& s, const Array& Vh, int threads,
                                  const std::string& instruction_set) {
    weyl::SvdBatch batch{};
    batch.is_double = C.dtype() == nb::dtype<double>();
    if (!batch.is_double && C.dtype() != nb::dtype<float>()) throw nb::type_error("C is neither float32 nor float64");
    batch.is_complex = C.ndim() == 4;
    if (C.ndim() != 3 && !(batch.is_complex && C.shape(3) == 2)) {
        throw nb::value_error("C must have shape (batch, p, q), or (batch, p, q, 2) when complex");
    }
    if (C.shape(1) > largest_side || C.shape(2) > largest_side) {
        throw nb::value_error(("C has a side above " + std::to_string(largest_side)).c_str());
    }
    if (threads < 1) throw nb::value_error("threads must be at least 1");
    const std::size_t count = C.shape(0), rows = C.shape(1), columns = C.shape(2), rank = std::min(rows, columns);
    std::vector<std::size_t> whole{count, rows, columns}, left{count, rows, rank}, right{count, rank, columns};
    if (batch.is_complex) {
        for (auto* shape : {&whole, &left, &right}) shape->push_back(2);
    }
    check(C, "C", C.dtype(), whole);
    check(U, "U", C.dtype(), left);
    check(s, "s", C.dtype(), {count, rank});
    check(Vh, "Vh", C.dtype(), right);
    const weyl::SvdVariant& variant = weyl::variant_named(variants(), instruction_set);
    if (count == 0 || rank == 0) return;

    batch.input = C.data();
    batch.left = U.data();
    batch.singular_values = s.data();
    batch.right = Vh.data();
    batch.count = count;
    batch.rows = static_cast<int>(rows);
    batch.columns = static_cast<int>(columns);
    const std::size_t lanes = static_cast<std::size_t>(variant.lanes(batch)), packs = (count + lanes - 1) / lanes;
    // a thread is worth starting for about a tenth of a millisecond of work: 10^5 rotated entries
    const std::size_t grain = std::max<std::size_t>(1, 100000 / (6 * rank * rank * (rows + columns)));
    const nb::gil_scoped_release release;
    weyl::parallel_blocks(packs, grain, static_cast<std::size_t>(threads), variant.workspace(batch),
                          [&](std::size_t first, std::size_t last, void* workspace) {
                              variant.run(batch, first, last, workspace);
                          });
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const auto* variant : variants()) {
        if (variant->supported()) names.emplace_back(variant->instruction_set);
    }
    return names;
}

}  // namespace

namespace weyl {
void bind_pairs(nb::module_& module);  // pairs_module.cpp
void bind_nodes(nb::module_& module);  // nodes_module.cpp
void bind_descent(nb::module_& module);  // descent_module.cpp
void bind_graphs(nb::module_& module);  // graphs_module.cpp
}

NB_MODULE(_native, module) {
    module.doc() = "Compiled kernels of weyl; weyl.kernels.native is their Python side.";
    module.def("singular_value_decomposition", &singular_value_decomposition, nb::arg("C"), nb::arg("U"), nb::arg("s"),
               nb::arg("Vh"), nb::arg("threads"), nb::arg("instruction_set") = "",
               "Fills U, s, Vh with the thin decomposition of each matrix in C: contiguous arrays of one real dtype, "
               "complex numbers as a last axis of 2.");
    module.def("instruction_sets", &instruction_sets, "Those this machine can run, best first.");
    weyl::bind_pairs(module);
    weyl::bind_nodes(module);
    weyl::bind_descent(module);
    weyl::bind_graphs(module);
}
