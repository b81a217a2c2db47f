// The loop over recorded votes: open, ask, stop, learn, next item.
#pragma once

#include "decision.hpp"
#include "learning.hpp"

namespace quorate {

struct Inputs {  // T items; draws are uniform on [0, 1)
    Grid<const std::int16_t> votes;  // (T, N) in asking order, -1 padded
    InInts pool_sizes;
    InFloatCube log_predictions;   // (T, M, K)
    InFloatGrid mean_predictions;  // (T, K)
    InFloats tie_draws, quota_draws, rates;
    InInts recorded;          // (T,) number of votes of each item
    InFloatGrid error_costs;  // (K, K) by truth and answer; (0, 0): all errors cost the same
};

struct Method {
    Int quota_kind;
    double picker_scale;
    Int rule_kind;
    bool stops_when_settled;
    Int ask_posterior;
    bool ask_learned;
    Int predict_posterior;
    bool predict_learned, learns;
    Int window;
    bool proportional;
    Int refit_every, stop_asking, min_votes, max_votes;  // items from `stop_asking` on are answered without experts
};

struct StreamState {
    Floats packed;                    // (P,) theta, phi, tau, bias: written by learning
    Cube<double> window_predictions;  // (W, M, K)
    IntGrid window_votes;             // (W, K)
    Floats losses;                    // (K,) of the model picker
    Ints counts;                      // items that entered the window, closed at the last fit; votes since; fits
    InFloats rule;                    // (2,)
};

struct Outputs {
    Ints costs, labels;
    Floats confidence;
    Ints stops;
    FloatGrid trace;  // (F, P)
    Ints trace_at;
    FloatGrid probs;  // (T, K), or (0, K): not kept
};

// Many items with votes at once: probs (T, K) of the winner, labels, and ASK or why asking stops (RULE: the policy's rule).
struct Batch {
    InFloatCube log_predictions;  // (T, M, K)
    InFloatGrid mean_predictions;
    InIntGrid votes;
    InInts pool_sizes;
    InFloats tie_draws;
    InFloatGrid error_costs;
};

struct Asking {
    StoppingRule rule;
    Limits limits;
    Int ask_posterior, predict_posterior;
    Params ask_params, predict_params;
    bool same_belief;
};

void decide_batch(const Batch& batch, const Asking& asking, FloatGrid probs, Ints labels, Ints codes);
void run_stream(const Inputs& inputs, const Method& method, const Hyperprior& hyperprior, const StreamState& state,
                const Outputs& outputs, Int first, Int last);

}  // namespace quorate
