// Ask or stop: beliefs, stopping rules, the look-ahead. Takes alpha, the votes and the probabilities of the winner.
#pragma once

#include "posterior.hpp"

namespace quorate {

enum Posterior : Int { VOTE_SHARE, FINITE, INFINITE };
enum Stop : Int { ASK, SETTLED, EXHAUSTED, QUOTA, RULE, SHORT };
enum RuleKind : Int { ALWAYS, THRESHOLD, QUORUM, UNANIMOUS, BETA, BLENDED };
constexpr double TIE_WIDTH = 1e-9;  // classes this close to the top are tied: smaller differences are round-off

struct Params {  // of the prior: tau (M, K), bias (K,)
    double theta, phi;
    InFloatGrid tau;
    InFloats bias;

    void concentrate(InFloatGrid log_predictions, Floats alpha) const {
        concentration_into(theta, phi, tau, bias, log_predictions, alpha);
    }
};

struct StoppingRule {  // the meaning of the two numbers depends on the kind
    Int kind;
    double first, second;
};

struct Limits {
    Int min_votes, max_votes;
    bool stops_when_settled;
};

// beliefs.cpp
void belief_into(Int posterior, InFloats alpha, InFloats prediction, InInts votes, Int pool_size, Floats out);
Int pick_label(InFloats probs, double tie_draw);
Int stop_before_rule(InInts votes, Int pool_size, const Limits& limits);
double expected_cost(InFloatGrid costs, InFloats probs, Int answer);
Int answer(InFloats probs, InFloatGrid error_costs, double tie_draw);

// rules.cpp
double optimistic_gain(InFloats probs, InInts votes, Int num_remaining);
bool rule_asks(const StoppingRule& rule, InFloats probs, InInts votes, Int num_remaining, InFloats alpha,
               InFloatGrid error_costs, double tie_draw);
bool surely_asks(double min_gain, InFloats alpha, InInts votes, Int num_remaining);

// look_ahead.cpp
double expected_gain(InFloats alpha, InInts votes, Int num_remaining, InFloats probs, InFloatGrid error_costs);
bool gains_more_than(double price, InFloats alpha, InInts votes, Int num_remaining, InFloats probs,
                     InFloatGrid error_costs);
bool order_decides(Int num_classes, Int num_remaining);
bool plan_of_two_gains(double price, InFloats alpha, InInts votes, Int num_remaining, Int first, Int second);

// quota.cpp
Int binomial_quantile(double uniform, Int trials, double rate);
double picker_rate(InFloats losses, Int rounds, InFloats prediction, double scale);
void picker_update(Floats losses, Int rounds, InFloats prediction, InInts votes, Int pool_size, double scale);

}  // namespace quorate
