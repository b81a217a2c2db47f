// The crowd: the class behind the votes, and how good and how careful each person is (docs/maths.md, "Crowds").
#pragma once

#include "numbers.hpp"

namespace quorate {

constexpr Int NUM_TYPES = 4;                      // careful, uniform, own habit, copies the classifier
constexpr Int FOR_WEIGHTS = 0, FOR_JUDGEMENT = 1;  // the two kinds of evidence: to weigh votes, and to judge people

// What is learned. E people, K classes.
struct CrowdState {
    Cube<double> confusion;  // (E, K, K) C: expected votes of person e on items of class k
    FloatGrid labels;        // (E, K) m: votes of person e by label
    Floats skill;            // (E,) s
    Cube<double> evidence;   // (E, 2, 4) log evidence of each type
    FloatGrid pooled;        // (K, K) P: expected votes of careful people
    Floats prevalence;       // (K,) sum of the beliefs about closed items
    Floats tau, bias;        // (1,), (K,) of the prediction

    Int num_classes() const { return bias.size; }
};

// An item with its V votes, and what was added for each of them when it closed, so that it can be taken back.
struct CrowdItem {
    InInts person, label;   // (V,)
    InFloats log_f;         // (K,) log prediction; all equal: no prediction
    Floats belief;          // (K,) r
    Floats careful;         // (V,) g: how probable it is that the vote is careful
    Cube<double> gained;    // (V, 2, 4) evidence
    FloatGrid if_careful;   // (V, K) c: the class, if the vote is careful
};

// Of one person and one label: w_t and p_t(y) by type. "nan" in p: this type votes like a careful person.
struct Types {
    double weight[NUM_TYPES], share[NUM_TYPES];
    double careful, careless;  // sum of w_t of the careful types; sum of w_t p_t(y) of the others
};

void centre_into(const CrowdState& state, double skill, Int y, Floats out);
void careful_into(const CrowdState& state, Int e, Int y, Floats out);
void type_weights_into(InFloats evidence, double* out);
void prior_into(const CrowdState& state, InFloats log_f, Floats out);
Types likelihood_into(const CrowdState& state, Int e, Int y, Int top, Floats out);
void count_votes(const CrowdState& state, InFloats log_f, InInts person, InInts label, Floats belief);
void gains_into(const CrowdState& state, InInts people, InFloats log_f, InFloats belief, FloatGrid out);
double hit_rate(double diagonal, double skill);
double pooled_diagonal(InFloatGrid pooled, Int k);
Int top_of(InFloats log_f);

void add_item(const CrowdState& state, const CrowdItem& item);
void take_back(const CrowdState& state, const CrowdItem& item);
void judge(const CrowdState& state, const CrowdItem& item);
void revise(const CrowdState& state, const CrowdItem& item);
void refit_prior(const CrowdState& state, InFloatGrid log_f, InFloatGrid belief);

// Recorded votes: item i has votes start[i] .. start[i + 1] - 1 of these arrays.
struct CrowdItems {
    InInts start;            // (n + 1,)
    InInts person, label;    // (V,)
    InFloatGrid log_f;       // (n, K)
    FloatGrid belief;        // (n, K)
    Floats careful;          // (V,)
    Cube<double> gained;     // (V, 2, 4)
    FloatGrid if_careful;    // (V, K)

    CrowdItem item(Int i, Int num_votes) const;
};

struct CrowdRule {
    double doubt, warm_up;      // ask while 1 - max r > doubt * min(1, (1 + votes so far) / warm_up)
    Int refit_every, window;    // of tau and bias: after so many items, on the last `window`
};

void run_crowd(const CrowdState& state, const CrowdItems& items, const CrowdRule& rule, InFloatGrid draws,
               FloatGrid online, Ints asked);

}  // namespace quorate
