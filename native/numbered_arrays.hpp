// The numbering of pairs and the rows of distances behind it, as Python hands them over.
#pragma once

#include "arrays.hpp"
#include "pair_numbers.hpp"

namespace weyl {

template <class AnyArray> std::size_t length(const AnyArray& array, const char* name) {
    if (array.ndim() != 1) throw nb::value_error((std::string(name) + " must have one axis").c_str());
    return array.shape(0);
}

inline PairNumbering numbering_from(const ReadOnlyArray& blocks, const std::int64_t* order, std::size_t n,
                                    const ReadOnlyArray& row_of, const ReadOnlyArray& rows) {
    if (blocks.ndim() != 2 || rows.ndim() != 2) throw nb::value_error("blocks and rows must have two axes");
    const std::size_t kinds = blocks.shape(1);
    check(blocks, "blocks", nb::dtype<std::int64_t>(), {4, kinds});
    check(rows, "rows", rows.dtype(), {rows.shape(0), n});
    const auto* block = static_cast<const std::int64_t*>(blocks.data());
    return {block, block + kinds, block + 2 * kinds, block + 3 * kinds, kinds,
            order, entries<std::int64_t>(row_of, "row_of", {n}), n};
}

// work(entries of the rows)
template <class Work> void with_entries(const ReadOnlyArray& rows, const Work& work) {
    if (rows.dtype() == nb::dtype<std::uint8_t>()) work(static_cast<const std::uint8_t*>(rows.data()));
    else if (rows.dtype() == nb::dtype<std::uint16_t>()) work(static_cast<const std::uint16_t*>(rows.data()));
    else if (rows.dtype() == nb::dtype<float>()) work(static_cast<const float*>(rows.data()));
    else if (rows.dtype() == nb::dtype<double>()) work(static_cast<const double*>(rows.data()));
    else throw nb::type_error("rows are neither uint8, uint16, float32 nor float64");
}

}  // namespace weyl
