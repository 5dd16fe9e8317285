// A batch of matrices to decompose, and the compiled variants of the loop over it.
#pragma once

#include <cstddef>

namespace weyl {

// Arrays are contiguous and row by row; complex numbers are pairs (re, im). k = min(rows, columns).
struct SvdBatch {
    const void* input;      // count x rows x columns
    void* left;             // count x rows x k
    void* singular_values;  // count x k, real
    void* right;            // count x k x columns, conjugate transposed: C = left diag(singular_values) right
    std::size_t count;
    int rows, columns;
    bool is_complex, is_double;
};

struct SvdVariant {
    const char* instruction_set;
    bool (*supported)();
    int (*lanes)(const SvdBatch&);                  // matrices side by side in one pack
    std::size_t (*workspace)(const SvdBatch&);      // bytes that one thread needs, aligned to 64
    void (*run)(const SvdBatch&, std::size_t first_pack, std::size_t last_pack, void* workspace);
};

extern const SvdVariant svd_portable, svd_avx2, svd_avx512;

}  // namespace weyl
