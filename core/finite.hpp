// Parts of FinExp: weights, levels and pairs. Contenders are in descending order of votes.
#pragma once

#include "numbers.hpp"

namespace quorate {

constexpr double NEGLIGIBLE = 1e-17;  // probability below which a level, or a tie of many classes, is skipped
constexpr int SHIFT = 250;            // weights above 2^SHIFT are scaled down by that power of two, which is exact
constexpr double LARGE = 0x1p250, SMALL = 0x1p-250;
constexpr Int UNSHIFTED_REMAINING = 160;  // with at most so many unseen votes no product of weights exceeds 2^SHIFT
constexpr Int PAD = 4;                    // zeros around a polynomial, so that `convolve` can process four terms at a time

// finite_weights
Int weights_into(double concentration, InFloats steps, double* out, Int last);
Int most_tied(Int level, InInts votes, Int remaining);
void gauss_into(Int count, double* nodes, double* shares);
Int tie_nodes_into(Int level, Int tied, double expected, double* nodes, double* shares);

// The contenders of one item, as all methods need them.
struct Contest {
    InFloats beta;       // (C,) alpha + votes
    double others_beta;  // of all classes that cannot win
    InInts votes;        // (C,)
    Int remaining;
    FloatGrid weights;  // (C + 1, R + 1 + PAD) of the unseen votes of each class; last row: of the others
    Ints shifts;        // (C,) powers of two taken out of each row
    double total;       // the weight of R missing votes of all classes together, and the power of two taken out of it
    Int total_shift;
    InFloats steps;     // (R + 1,) tilt / (x + 1)
    double* work;       // (C + 2) polynomials of R + 1 + 2 PAD terms
};

void add_level(const Contest& contest, Int level, Int others_shift, Int count, InFloats nodes, InFloats shares,
               IntGrid bounds, Floats win);
void add_pair_levels(const Contest& contest, Int first, Int last, InFloats reached, Floats win);

}  // namespace quorate
