// Checks on the arrays that Python hands over: shape, dtype and contiguity, before any pointer is used.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace weyl {

namespace nb = nanobind;
using Array = nb::ndarray<nb::device::cpu>;
using ReadOnlyArray = nb::ndarray<nb::ro, nb::device::cpu>;

inline std::string text(const std::vector<std::size_t>& shape) {
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
    if (array.dtype() != dtype) throw nb::type_error((std::string(name) + " has another dtype than it should").c_str());
    std::int64_t stride = 1;
    for (std::size_t i = found.size(); i-- > 0;) {
        if (found[i] > 1 && array.stride(i) != stride && array.size() > 0) {
            throw nb::value_error((std::string(name) + " is not contiguous").c_str());
        }
        stride *= static_cast<std::int64_t>(found[i]);
    }
}

// The entries of an array of this shape.
template <class Value, class AnyArray>
auto entries(const AnyArray& array, const char* name, const std::vector<std::size_t>& shape) {
    check(array, name, nb::dtype<Value>(), shape);
    return static_cast<std::conditional_t<std::is_same_v<AnyArray, ReadOnlyArray>, const Value*, Value*>>(array.data());
}

// The first of the variants (best first) that this machine supports and that has the name, or any where it is empty.
template <class Variant>
const Variant& variant_named(std::initializer_list<const Variant*> variants, const std::string& instruction_set) {
    for (const Variant* variant : variants) {
        if (variant->supported() && (instruction_set.empty() || instruction_set == variant->instruction_set)) return *variant;
    }
    throw nb::value_error(("this machine has no instruction set '" + instruction_set + "'").c_str());
}

}  // namespace weyl
