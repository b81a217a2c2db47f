// How exported functions take their arguments: addresses and shapes of arrays, whole numbers, numbers; one number back.
// quorate/core.py has checked types, shapes, memory order and overlaps; what depends on values is checked here.
#pragma once

#include "views.hpp"

#ifdef _WIN32
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace quorate {

constexpr int DONE = 0, REFUSED = 1;
constexpr Int MOST_VOTES = 100'000;       // of an item and of a pool, as in quorate.validate
constexpr Int MOST_NUMBERS = 1 << 27;     // scratch of one item: 1 GB

struct Array {
    void* data;
    Int shape[3];

    template <class T> View<T> view() const { return {static_cast<T*>(data), shape[0]}; }
    template <class T> Grid<T> grid() const { return {static_cast<T*>(data), shape[0], shape[1]}; }
    template <class T> Cube<T> cube() const { return {static_cast<T*>(data), shape[0], shape[1], shape[2]}; }
    InFloats in() const { return view<const double>(); }
    InInts in_ints() const { return view<const Int>(); }
    InFloatGrid in_grid() const { return grid<const double>(); }
    InIntGrid in_int_grid() const { return grid<const Int>(); }
    InFloatCube in_cube() const { return cube<const double>(); }
};

// Are these vote counts of a pool of this size, or of any size if it is below 0?
inline bool are_counts(InInts votes, Int pool_size) {
    Int total = 0;
    for (Int count : votes) {
        if (count < 0 || count > MOST_VOTES) return false;
        total += count;
    }
    Int most = pool_size < 0 ? MOST_VOTES * 16 : pool_size;
    return total <= most && pool_size <= MOST_VOTES && votes.size * pool_size <= MOST_NUMBERS / 4;
}

inline bool are_counts(InIntGrid votes, InInts pool_sizes) {
    for (Int t = 0; t < votes.rows; t++) {
        if (pool_sizes[t] < 0 || !are_counts(votes[t], pool_sizes[t])) return false;
    }
    return true;
}

inline bool is_draw(double number) { return number >= 0.0 && number < 1.0; }

inline bool are_draws(InFloats numbers) { return std::all_of(numbers.begin(), numbers.end(), is_draw); }

}  // namespace quorate
