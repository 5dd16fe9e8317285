// The compiled variants of the loop over pairs.
#pragma once

#include "pair_batch.hpp"

namespace weyl {

struct PairVariant {
    const char* instruction_set;
    bool (*supported)();
    int (*lanes)(const PairBatch&);              // pairs side by side in one pack
    std::size_t (*workspace)(const PairBatch&);  // bytes that one thread needs, aligned to 64
    // Returns the largest gap between components of one v.
    double (*run)(const PairBatch&, std::size_t first_pack, std::size_t last_pack, void* workspace);
    // All pairs of the batch, one after the other; fills the last three fields of the descent.
    void (*descend)(const PairBatch&, PairDescent&, void* workspace);
    // Sums the gradients at the nodes whose index is `owner` in the binary digits of `mask`, in the order of the pairs:
    // the same bits, whatever the number of owners.
    void (*accumulate)(const PairSums&, std::size_t owner, std::size_t mask);
};

extern const PairVariant pairs_portable, pairs_avx2, pairs_avx512;

}  // namespace weyl
