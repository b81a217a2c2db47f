// Who will win the pool, for one item: FinExp, InfExp, and a lower bound of FinExp that costs far less.
#pragma once

#include "numbers.hpp"

namespace quorate {

// out (K,) = P(class k wins the pool), votes (K,) of `pool_size` seen; the sum before normalisation: 1 but for round-off.
double finite_into(InFloats alpha, InInts votes, Int pool_size, Floats out);

// out (K,) = P(k = argmax pi), pi ~ Dirichlet(beta).
void infinite_into(InFloats beta, Floats out);

double wins_alone(Int chosen, InFloats alpha, InInts votes, Int num_remaining);

// Can the remaining votes no longer change the plurality? second + remaining < top, or remaining = 0.
inline bool is_settled(InInts votes, Int pool_size) {
    Int top = 0, second = 0, remaining = pool_size;
    for (Int count : votes) {
        remaining -= count;
        if (count > top) {
            second = top;
            top = count;
        } else if (count > second) {
            second = count;
        }
    }
    return remaining <= 0 || second + remaining < top;
}

// out (K,) = 1 for the winner, 1/t each for t classes tied at the top.
inline void plurality_share_into(InInts votes, Floats out) {
    Int top = -1, tied = 0;
    for (Int count : votes) {
        if (count > top) {
            top = count, tied = 1;
        } else if (count == top) {
            tied++;
        }
    }
    for (Int k = 0; k < votes.size; k++) out[k] = votes[k] == top ? 1.0 / tied : 0.0;
}

}  // namespace quorate
