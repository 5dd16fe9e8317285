// What moving many nodes is, in plain data: shared by the compiled loops and the Python module.
#pragma once

#include "pair_batch.hpp"

namespace weyl {

struct NodeBatch {
    double* records;      // count x node_size, changed in place
    const double* steps;  // count x step_size: kept entries of tangent vectors in the frames
    std::size_t count;
    int node_size, step_size;
    PairFactor factor;    // a half space
    bool unimodular;      // determinant 1 stays 1
    double longest;       // longer steps are shortened to this length
};

struct NodeVariant {
    const char* instruction_set;
    bool (*supported)();
    int (*lanes)();
    std::size_t (*workspace)(const NodeBatch&);
    void (*run)(const NodeBatch&, std::size_t first_pack, std::size_t last_pack, void* workspace);
};

extern const NodeVariant nodes_portable, nodes_avx2, nodes_avx512;

}  // namespace weyl
