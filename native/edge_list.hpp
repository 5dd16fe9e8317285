// Reads lines `source target [weight]`: fields split, names numbered in the order in which they come, weights checked.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weyl {

// What stands in the fields of a line; columns count from 0, weight is -1 where there is none.
struct EdgeColumns {
    char separator;  // ' ' stands for any run of spaces and tabs
    int count, first, second, weight;
};

enum class LineProblem { none, columns, open_quote, after_quote, empty_name, not_a_number, not_a_length };

// Numbers the names it is shown, from 0: open addressing, half empty. A name of up to seven bytes is its own key, so
// that its slot says all; longer ones are compared where they stand.
class NameTable {
public:
    NameTable() : slots_(1 << 12, Slot{0, empty}) {}

    static std::uint64_t key(std::string_view name) {
        if (name.size() < 8) {
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, name.data(), name.size());
            return bytes | static_cast<std::uint64_t>(name.size()) << 56;
        }
        std::uint64_t hash = name.size();
        for (std::size_t at = 0; at + 8 < name.size(); at += 8) hash = mixed(hash ^ word(name.data() + at));
        return mixed(hash ^ word(name.data() + name.size() - 8)) | longer;
    }

    // Reading a slot misses the cache: asked for early, many are on their way at once.
    void prefetch(std::uint64_t key) const {
#if defined(__GNUC__)
        __builtin_prefetch(&slots_[place(key)]);
#endif
    }

    std::int64_t number(std::string_view name, std::uint64_t key, bool owned) {
        if (2 * names_.size() >= slots_.size()) grow();
        std::size_t at = place(key);
        for (; slots_[at].index != empty; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.key == key && (key < longer || names_[slot.index] == name)) return slot.index;
        }
        if (!owned) {  // a quoted name with doubled quotes stands nowhere in the text
            copies_.emplace_back(name);
            name = copies_.back();
        }
        slots_[at] = {key, static_cast<std::uint32_t>(names_.size())};
        names_.push_back(name);
        return static_cast<std::int64_t>(names_.size()) - 1;
    }

    const std::vector<std::string_view>& names() const { return names_; }

private:
    struct Slot {
        std::uint64_t key;
        std::uint32_t index;
    };
    static constexpr std::uint32_t empty = 0xffffffffu;
    static constexpr std::uint64_t longer = 0xffull << 56;

    static std::uint64_t word(const char* text) {
        std::uint64_t bytes;
        std::memcpy(&bytes, text, 8);
        return bytes;
    }

    static std::uint64_t mixed(std::uint64_t bits) {
        bits = (bits ^ bits >> 32) * 0xff51afd7ed558ccdull;
        bits = (bits ^ bits >> 29) * 0x9e3779b97f4a7c15ull;
        return bits ^ bits >> 32;
    }

    std::size_t place(std::uint64_t key) const { return mixed(key) & (slots_.size() - 1); }

    void grow() {
        std::vector<Slot> before(2 * slots_.size(), Slot{0, empty});
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.index == empty) continue;
            std::size_t at = place(slot.key);
            while (slots_[at].index != empty) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<std::string_view> names_;
    std::deque<std::string> copies_;
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// A decimal number, correctly rounded; false where the text is not one. `inf` and `nan` are numbers.
inline bool decimal(std::string_view text, double& value) {
    const char *at = text.data(), *end = at + text.size();
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    const std::string_view unsigned_text(at, static_cast<std::size_t>(end - at));
    std::string word;
    if (at < end && !is_digit(*at) && *at != '.') {
        for (char c : unsigned_text) word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        if (word == "nan") value = std::numeric_limits<double>::quiet_NaN();
        else if (word == "inf" || word == "infinity") value = std::numeric_limits<double>::infinity();
        else return false;
        if (negative) value = -value;
        return true;
    }
    std::uint64_t mantissa = 0;
    int digits = 0, seen = 0, exponent = 0, written = 0;
    for (; at < end && is_digit(*at); ++at, ++seen) {
        if (digits || *at != '0') ++digits;
        if (digits <= 18) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*at - '0');
    }
    if (at < end && *at == '.') {
        for (++at; at < end && is_digit(*at); ++at, ++seen, --exponent) {
            if (digits || *at != '0') ++digits;
            if (digits <= 18) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*at - '0');
        }
    }
    if (!seen) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        ++at;
        const bool below = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) ++at;
        if (at == end) return false;
        for (; at < end && is_digit(*at); ++at) written = written < 100000 ? 10 * written + (*at - '0') : written;
        exponent += below ? -written : written;
        written = below ? -1 : 1;
    }
    if (at != end) return false;
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (mantissa == 0 && digits == 0) {
        value = 0;
    } else if (digits <= 18 && mantissa < (1ull << 53) && exponent >= -22 && exponent <= 22) {
        // both factors are exact, so one rounding is all there is
        value = exponent < 0 ? static_cast<double>(mantissa) / powers[-exponent] : static_cast<double>(mantissa) * powers[exponent];
    } else {
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
        const auto read = std::from_chars(unsigned_text.data(), end, value);
        if (read.ec == std::errc::result_out_of_range) value = written < 0 || exponent < -300 ? 0.0 : std::numeric_limits<double>::infinity();
#else
        std::istringstream stream{std::string(unsigned_text)};
        stream.imbue(std::locale::classic());
        if (!(stream >> value)) value = written < 0 || exponent < -300 ? 0.0 : std::numeric_limits<double>::infinity();
#endif
    }
    if (negative) value = -value;
    return true;
}

// One pass over a text. `first`, `second` and `weights` have room for every line.
class EdgeReader {
public:
    EdgeReader(std::string_view text, std::int64_t line, const EdgeColumns& columns)
        : at_(text.data()), end_(at_ + text.size()), line_(line - 1), columns_(columns) {}

    void read(std::int64_t* first, std::int64_t* second, double* weights) {
        while (at_ < end_) {
            ++line_;
            const auto* stop = static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
            const char* next = stop ? stop + 1 : end_;
            const char* last = stop ? stop : end_;
            while (last > at_ && (is_blank(last[-1]) || last[-1] == '\r')) --last;
            const char* start = at_;
            while (start < last && is_blank(*start)) ++start;
            const bool comment = start == last || *start == '#' || *start == '%' ||
                                 (*start == '/' && last - start > 1 && start[1] == '/');
            if (!comment) {
                problem = edge(at_, last, first, second, weights);
                if (problem != LineProblem::none) return;
            }
            at_ = next;
        }
        number_waiting();
    }

    NameTable names;
    std::size_t edges = 0;
    LineProblem problem = LineProblem::none;
    std::string found;  // the field, or the number of fields, of the problem
    std::int64_t line() const { return line_; }

private:
    LineProblem edge(const char* at, const char* last, std::int64_t* first, std::int64_t* second, double* weights) {
        int column = 0;
        const bool blanks = columns_.separator == ' ';
        while (true) {
            while (at < last && (blanks ? is_blank(*at) : *at == ' ' || (*at == '\t' && columns_.separator != '\t'))) ++at;
            std::string_view field;
            bool in_text = true;
            if (at < last && *at == '"') {
                const char* begin = ++at;
                bool doubled = false;
                while (at < last && (*at != '"' || (at + 1 < last && at[1] == '"'))) {
                    doubled |= *at == '"';
                    at += *at == '"' ? 2 : 1;
                }
                if (at >= last) return LineProblem::open_quote;
                field = std::string_view(begin, static_cast<std::size_t>(at - begin));
                if (doubled) {
                    scratch_[column % 2].clear();
                    for (std::size_t i = 0; i < field.size(); ++i) {
                        scratch_[column % 2] += field[i];
                        i += field[i] == '"';
                    }
                    field = scratch_[column % 2];
                    in_text = false;
                }
                ++at;
                while (at < last && !blanks && *at == ' ') ++at;
                if (at < last && !(blanks ? is_blank(*at) : *at == columns_.separator)) return LineProblem::after_quote;
            } else {
                const char* begin = at;
                while (at < last && !(blanks ? is_blank(*at) : *at == columns_.separator)) ++at;
                const char* finish = at;
                while (finish > begin && is_blank(finish[-1])) --finish;
                field = std::string_view(begin, static_cast<std::size_t>(finish - begin));
            }
            if (const LineProblem bad = take(column, field, in_text, first, second, weights); bad != LineProblem::none) {
                if (pending_ == LineProblem::none) {
                    pending_ = bad;
                    found.assign(field);
                }
            }
            ++column;
            while (blanks && at < last && is_blank(*at)) ++at;
            if (at >= last) break;
            if (!blanks) ++at;
        }
        if (column != columns_.count) {  // explains the line better than what a field of it is not
            found = std::to_string(column);
            return LineProblem::columns;
        }
        if (pending_ != LineProblem::none) return pending_;
        ++edges;
        return LineProblem::none;
    }

    LineProblem take(int column, std::string_view field, bool in_text, std::int64_t* first, std::int64_t* second,
                     double* weights) {
        if (column == columns_.first || column == columns_.second) {
            if (field.empty()) return LineProblem::empty_name;
            std::int64_t* row = (column == columns_.first ? first : second) + edges;
            const std::uint64_t key = NameTable::key(field);
            if (in_text) {
                names.prefetch(key);
                waiting_[waits_++] = {field, key, row};
            }
            if (!in_text || waits_ == std::size(waiting_)) number_waiting();
            if (!in_text) *row = names.number(field, key, false);
        } else if (column == columns_.weight) {
            double value = 0;
            if (!decimal(field, value)) return LineProblem::not_a_number;
            if (!(value > 0) || std::isinf(value)) return LineProblem::not_a_length;
            weights[edges] = value;
        }
        return LineProblem::none;
    }

    void number_waiting() {
        for (std::size_t i = 0; i < waits_; ++i) *waiting_[i].row = names.number(waiting_[i].name, waiting_[i].key, true);
        waits_ = 0;
    }

    struct Waiting {
        std::string_view name;
        std::uint64_t key;
        std::int64_t* row;
    };

    const char *at_, *end_;
    std::int64_t line_;
    EdgeColumns columns_;
    std::string scratch_[2];
    Waiting waiting_[64];
    std::size_t waits_ = 0;
    LineProblem pending_ = LineProblem::none;
};

// The names as whole numbers, where each is one written without leading zeros; empty otherwise.
inline std::vector<std::int64_t> as_numbers(const std::vector<std::string_view>& names) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(names.size());
    for (std::string_view name : names) {
        if (name.size() > 18 || (name.size() > 1 && name[0] == '0')) return {};
        std::int64_t number = 0;
        for (char c : name) {
            if (!is_digit(c)) return {};
            number = 10 * number + (c - '0');
        }
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace weyl
