// The loop over a batch, compiled once for each instruction set (see CMakeLists.txt).
#include "svd_batch.hpp"

#include "jacobi_svd.hpp"
#include "variant.hpp"

namespace weyl {
inline namespace WEYL_VARIANT {

template <class Real, bool is_complex> WEYL_INLINE Number<Real, is_complex> read(const Real* p, bool conjugated) {
    if constexpr (is_complex) {
        return {p[0], conjugated ? -p[1] : p[1]};
    } else {
        return {p[0]};
    }
}

template <class Real, bool is_complex> WEYL_INLINE void write(Real* p, Number<Real, is_complex> x, bool conjugated) {
    p[0] = x.re;
    if constexpr (is_complex) p[1] = conjugated ? -x.im : x.im;
}

// One type of entry and, when `size` is not 0, one size of square matrices. A wide matrix is decomposed through its
// conjugate transpose, so that the working matrix always has at least as many rows as columns.
template <class Real, bool is_complex, int size> struct Loop {
    using Lane = LaneOf<Real>;
    using Entry = Number<Lane, is_complex>;
    static constexpr int lanes = LaneTraits<Lane>::width, reals = is_complex ? 2 : 1;

    static std::size_t workspace(int rows, int columns) {
        const std::size_t entries = std::size_t(rows) * columns + std::size_t(columns) * columns;
        return entries * sizeof(Entry) + columns * sizeof(Lane);
    }

    static void run(const SvdBatch& batch, std::size_t first_pack, std::size_t last_pack, void* workspace) {
        const bool wide = batch.rows < batch.columns;
        const int rows = size ? size : wide ? batch.columns : batch.rows;
        const int columns = size ? size : wide ? batch.rows : batch.columns;
        Entry* const a = static_cast<Entry*>(workspace);
        Entry* const v = a + rows * columns;
        Lane* const s = reinterpret_cast<Lane*>(v + columns * columns);
        const std::size_t tall_size = std::size_t(rows) * columns * reals;
        const std::size_t square_size = std::size_t(columns) * columns * reals;
        const Real* const input = static_cast<const Real*>(batch.input);
        Real* const tall_output = static_cast<Real*>(wide ? batch.right : batch.left);
        Real* const square_output = static_cast<Real*>(wide ? batch.left : batch.right);
        Real* const values_output = static_cast<Real*>(batch.singular_values);
        const Real not_a_number = static_cast<Real>(__builtin_nan(""));

        for (std::size_t pack = first_pack; pack < last_pack; ++pack) {
            const std::size_t first = pack * lanes;
            const int used = batch.count - first < lanes ? static_cast<int>(batch.count - first) : lanes;
            bool finite[lanes];
            for (int lane = 0; lane < lanes; ++lane) {
                const Real* const matrix = input + (first + (lane < used ? lane : 0)) * tall_size;
                Real zero = 0;  // becomes NaN when an entry is not finite
                for (std::size_t i = 0; i < tall_size; ++i) zero += 0 * matrix[i];
                finite[lane] = zero == 0;
                for (int c = 0; c < columns; ++c) {
                    for (int r = 0; r < rows; ++r) {
                        const std::size_t at = wide ? std::size_t(c) * rows + r : std::size_t(r) * columns + c;
                        auto entry = read<Real, is_complex>(matrix + at * reals, wide);
                        if (!finite[lane]) entry = Number<Real, is_complex>::from(0);
                        set_number(a[c * rows + r], lane, entry);
                    }
                }
            }

            jacobi_svd<size, size>(a, v, s, rows, columns);

            for (int lane = 0; lane < used; ++lane) {
                const std::size_t matrix = first + lane;
                Real* const tall = tall_output + matrix * tall_size;
                Real* const square = square_output + matrix * square_size;
                Real* const values = values_output + matrix * columns;
                // left holds a column a row of U; right holds them conjugated as rows
                for (int c = 0; c < columns; ++c) {
                    values[c] = get_lane(s[c], lane);
                    for (int r = 0; r < rows; ++r) {
                        const std::size_t at = wide ? std::size_t(c) * rows + r : std::size_t(r) * columns + c;
                        write<Real, is_complex>(tall + at * reals, number_in_lane(a[c * rows + r], lane), wide);
                    }
                    for (int r = 0; r < columns; ++r) {
                        const std::size_t at = wide ? std::size_t(r) * columns + c : std::size_t(c) * columns + r;
                        write<Real, is_complex>(square + at * reals, number_in_lane(v[c * columns + r], lane), !wide);
                    }
                }
                if (!finite[lane]) {
                    for (std::size_t i = 0; i < tall_size; ++i) tall[i] = not_a_number;
                    for (std::size_t i = 0; i < square_size; ++i) square[i] = not_a_number;
                    for (int c = 0; c < columns; ++c) values[c] = not_a_number;
                }
            }
        }
    }
};

template <class Real, bool is_complex>
void run_sized(const SvdBatch& batch, std::size_t first_pack, std::size_t last_pack, void* workspace) {
    using Run = void (*)(const SvdBatch&, std::size_t, std::size_t, void*);
    static constexpr Run by_size[] = {
        Loop<Real, is_complex, 0>::run, Loop<Real, is_complex, 1>::run, Loop<Real, is_complex, 2>::run,
        Loop<Real, is_complex, 3>::run, Loop<Real, is_complex, 4>::run, Loop<Real, is_complex, 5>::run,
        Loop<Real, is_complex, 6>::run, Loop<Real, is_complex, 7>::run, Loop<Real, is_complex, 8>::run,
    };
    const bool unrolled = batch.rows == batch.columns && batch.rows <= 8;
    by_size[unrolled ? batch.rows : 0](batch, first_pack, last_pack, workspace);
}

static int lanes(const SvdBatch& batch) {
    return batch.is_double ? LaneTraits<LaneOf<double>>::width : LaneTraits<LaneOf<float>>::width;
}

static std::size_t workspace(const SvdBatch& batch) {
    const bool wide = batch.rows < batch.columns;
    const int rows = wide ? batch.columns : batch.rows, columns = wide ? batch.rows : batch.columns;
    if (batch.is_complex) {
        return batch.is_double ? Loop<double, true, 0>::workspace(rows, columns)
                               : Loop<float, true, 0>::workspace(rows, columns);
    }
    return batch.is_double ? Loop<double, false, 0>::workspace(rows, columns)
                           : Loop<float, false, 0>::workspace(rows, columns);
}

static void run(const SvdBatch& batch, std::size_t first_pack, std::size_t last_pack, void* workspace) {
    if (batch.is_complex) {
        batch.is_double ? run_sized<double, true>(batch, first_pack, last_pack, workspace)
                        : run_sized<float, true>(batch, first_pack, last_pack, workspace);
    } else {
        batch.is_double ? run_sized<double, false>(batch, first_pack, last_pack, workspace)
                        : run_sized<float, false>(batch, first_pack, last_pack, workspace);
    }
}

}  // namespace WEYL_VARIANT

const SvdVariant WEYL_JOIN(svd_, WEYL_VARIANT) = {WEYL_TEXT(WEYL_VARIANT), supported, lanes, workspace, run};

}  // namespace weyl
