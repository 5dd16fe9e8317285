// The Python module weyl._native: checks what it is given, then hands plain pointers to the compiled loops.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "svd_batch.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace {

using Array = nb::ndarray<nb::device::cpu>;
using ReadOnlyArray = nb::ndarray<nb::ro, nb::device::cpu>;

constexpr int largest_side = 1024;

std::vector<const weyl::SvdVariant*> supported_variants() {  // best first
    std::vector<const weyl::SvdVariant*> variants;
    for (const auto* variant : {
#ifdef WEYL_WITH_X86_VARIANTS
             &weyl::svd_avx512, &weyl::svd_avx2,
#endif
             &weyl::svd_portable}) {
        if (variant->supported()) variants.push_back(variant);
    }
    return variants;
}

const weyl::SvdVariant& variant_named(const std::string& instruction_set) {
    for (const auto* variant : supported_variants()) {
        if (instruction_set.empty() || instruction_set == variant->instruction_set) return *variant;
    }
    throw nb::value_error(("this machine has no instruction set '" + instruction_set + "'").c_str());
}

std::string text(const std::vector<std::size_t>& shape) {
    std::string words;
    for (std::size_t i = 0; i < shape.size(); ++i) words += (i ? ", " : "") + std::to_string(shape[i]);
    return "(" + words + ")";
}

template <class AnyArray>
void check(const AnyArray& array, const char* name, nb::dlpack::dtype dtype, const std::vector<std::size_t>& shape) {
    std::vector<std::size_t> found(array.ndim());
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = array.shape(i);
    if (found != shape) {
        throw nb::value_error((std::string(name) + " has shape " + text(found) + ", not " + text(shape)).c_str());
    }
    if (array.dtype() != dtype) throw nb::type_error((std::string(name) + " differs from C in its dtype").c_str());
    std::int64_t stride = 1;
    for (std::size_t i = found.size(); i-- > 0;) {
        if (found[i] > 1 && array.stride(i) != stride && array.size() > 0) {
            throw nb::value_error((std::string(name) + " is not contiguous").c_str());
        }
        stride *= static_cast<std::int64_t>(found[i]);
    }
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
    const weyl::SvdVariant& variant = variant_named(instruction_set);
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
    for (const auto* variant : supported_variants()) names.emplace_back(variant->instruction_set);
    return names;
}

}  // namespace

NB_MODULE(_native, module) {
    module.doc() = "Compiled kernels of weyl; weyl.kernels.native is their Python side.";
    module.def("singular_value_decomposition", &singular_value_decomposition, nb::arg("C"), nb::arg("U"), nb::arg("s"),
               nb::arg("Vh"), nb::arg("threads"), nb::arg("instruction_set") = "",
               "Fills U, s, Vh with the thin decomposition of each matrix in C: contiguous arrays of one real dtype, "
               "complex numbers as a last axis of 2.");
    module.def("instruction_sets", &instruction_sets, "Those this machine can run, best first.");
}
