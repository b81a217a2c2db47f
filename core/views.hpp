// Arrays that functions read and write: views of memory that somebody else owns, and scratch memory of one call.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <numbers>
#include <type_traits>

namespace quorate {

using Int = std::int64_t;

// A row of numbers.
template <class T>
struct View {
    T* data = nullptr;
    Int size = 0;

    View() = default;
    View(T* data, Int size) : data(data), size(size) {}
    template <class U> requires std::is_same_v<const U, T>
    View(const View<U>& other) : data(other.data), size(other.size) {}

    T& operator[](Int i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    View part(Int first, Int last) const { return {data + first, last - first}; }
    View from(Int first) const { return {data + first, size - first}; }
    void fill(T value) const { std::fill(data, data + size, value); }

    std::remove_const_t<T> sum() const {
        std::remove_const_t<T> total = 0;
        for (T value : *this) total += value;
        return total;
    }
    T max() const { return *std::max_element(begin(), end()); }
    T min() const { return *std::min_element(begin(), end()); }
    Int argmax() const { return std::max_element(begin(), end()) - begin(); }
};

// Rows of equal length.
template <class T>
struct Grid {
    T* data = nullptr;
    Int rows = 0, columns = 0;

    Grid() = default;
    Grid(T* data, Int rows, Int columns) : data(data), rows(rows), columns(columns) {}
    template <class U> requires std::is_same_v<const U, T>
    Grid(const Grid<U>& other) : data(other.data), rows(other.rows), columns(other.columns) {}

    View<T> operator[](Int row) const { return {data + row * columns, columns}; }
    T& operator()(Int row, Int column) const { return data[row * columns + column]; }
    View<T> flat() const { return {data, rows * columns}; }
    Int size() const { return rows * columns; }
};

// Tables of equal size: predictions (items, classifiers, classes).
template <class T>
struct Cube {
    T* data = nullptr;
    Int items = 0, rows = 0, columns = 0;

    Cube() = default;
    Cube(T* data, Int items, Int rows, Int columns) : data(data), items(items), rows(rows), columns(columns) {}
    template <class U> requires std::is_same_v<const U, T>
    Cube(const Cube<U>& other) : data(other.data), items(other.items), rows(other.rows), columns(other.columns) {}

    Grid<T> operator[](Int item) const { return {data + item * rows * columns, rows, columns}; }
    View<T> operator()(Int item, Int row) const { return {data + (item * rows + row) * columns, columns}; }
    Cube first(Int count) const { return {data, count, rows, columns}; }
};

using Floats = View<double>;
using Ints = View<Int>;
using InFloats = View<const double>;
using InInts = View<const Int>;
using FloatGrid = Grid<double>;
using IntGrid = Grid<Int>;
using InFloatGrid = Grid<const double>;
using InIntGrid = Grid<const Int>;
using InFloatCube = Cube<const double>;

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

inline Int floor_div(Int a, Int b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

// Scratch memory of one call: a stack of blocks. An exported function has one on its stack; frames take from it and give
// back all they took when they end. The memory is freed when the call returns.
struct Pool {
    static constexpr int MOST_BLOCKS = 48;
    static constexpr std::size_t ALIGNMENT = 64;
    std::byte* blocks[MOST_BLOCKS] = {};
    std::size_t sizes[MOST_BLOCKS] = {};
    int block = 0;
    std::size_t used = 0;
    Pool* outer;  // of a call further out in this thread

    Pool();
    Pool(const Pool&) = delete;
    ~Pool();
    void grow(std::size_t bytes);
    std::byte* start() const {
        auto address = reinterpret_cast<std::uintptr_t>(blocks[block]);
        return blocks[block] + (ALIGNMENT - address % ALIGNMENT) % ALIGNMENT;
    }
};

Pool& this_pool();  // of the call that runs in this thread

class Frame {
  public:
    Frame() : pool_(this_pool()), block_(pool_.block), used_(pool_.used) {}
    Frame(const Frame&) = delete;
    ~Frame() { pool_.block = block_, pool_.used = used_; }

    Floats floats(Int count) { return {take<double>(count), count}; }
    Ints ints(Int count) { return {take<Int>(count), count}; }
    FloatGrid grid(Int rows, Int columns) { return {take<double>(rows * columns), rows, columns}; }
    IntGrid int_grid(Int rows, Int columns) { return {take<Int>(rows * columns), rows, columns}; }
    Floats zeros(Int count) { return filled(floats(count)); }
    Ints int_zeros(Int count) { return filled(ints(count)); }
    FloatGrid zero_grid(Int rows, Int columns) {
        auto made = grid(rows, columns);
        made.flat().fill(0.0);
        return made;
    }
    Floats copy(InFloats source) {
        auto made = floats(source.size);
        std::copy(source.begin(), source.end(), made.data);
        return made;
    }

  private:
    template <class V>
    static V filled(V made) {
        made.fill(0);
        return made;
    }
    template <class T>
    T* take(Int count) {
        std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(T) + 63) & ~std::size_t{63};
        if (pool_.used + bytes > pool_.sizes[pool_.block]) pool_.grow(bytes);
        T* found = reinterpret_cast<T*>(pool_.start() + pool_.used);
        pool_.used += bytes;
        return found;
    }

    Pool& pool_;
    int block_;
    std::size_t used_;
};

}  // namespace quorate
