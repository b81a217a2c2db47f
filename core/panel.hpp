// A small panel of known members: how each votes, and whom of them to ask next (docs/maths.md, "Panels").
#pragma once

#include "numbers.hpp"

namespace quorate {

constexpr Int DIFFICULTIES = 3, MOST_STATES = 65536;
constexpr Int UNSEEN = -1;  // in place of the vote of a member who was not asked; lower: not in the pool

// What is learned. N members, K classes, M classifiers.
struct PanelState {
    InFloatCube rows;                          // (N, 3 K, K) q_e[d,z,j]: how member e votes in each state (d, z)
    InFloatGrid difficulty;                    // (4, 3) delta, by bin of pi
    InFloatGrid tau;                           // (M, K)
    InFloats bias;                             // (K,)
    double theta, phi;                         // of FinExp, with its own
    InFloatGrid exchangeable_tau;              // (M, K)
    InFloats exchangeable_bias;                // (K,)
    double log_members, log_exchangeable;      // L of the two models

    Int num_classes() const { return bias.size; }
};

struct PanelAdvice {
    Int member;         // to ask next; -1: stop
    double gain, cost;  // of the best plan
};

bool is_small(InInts votes, Int num_classes);
double latent_into(const PanelState& state, InFloatGrid log_f, InInts votes, Ints bins, Floats latent);
double polya_into(const PanelState& state, InFloatGrid log_f, InInts votes, Floats beta, Ints seen);
PanelAdvice advise(const PanelState& state, InFloatGrid log_f, InInts votes, View<const std::uint8_t> available,
                   InFloats costs, double price, Floats probs, Floats net_gains);

}  // namespace quorate
