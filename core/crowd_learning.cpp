// What a crowd learns from an item that closes, how that is taken back, and how far the classifier is trusted.
#include "crowd.hpp"

namespace quorate {
namespace {

constexpr double SKILL_VARIANCE = 0.3, LEAST_SKILL = -1.0;  // lower skills are not those of a careful person
constexpr double ALIKE = 0.1;  // share of careful votes that follow the prediction whatever the class, when judging
constexpr double CLOSE_TO_ZERO = 1e-12;
constexpr double TAU_SHAPE = 3.0, TAU_RATE = 2.0, MOST_TAU = 1.0, BIAS_VARIANCE = 0.25, STEP = 0.5;

void add_to(double& count, double change) { count = std::max(count + change, 0.0); }

// Adds (sign 1) or takes back (sign -1) what vote v says about its person and the crowd:
//   C_e[z,y] += c(z),   P[z,y] += g c(z),   m_e[y] += 1,   evidence_e += its logarithms;
// the only vote of an item with a prediction adds g c(z), z != y, evenly to all P[z,j], j != z.
void change_by_vote(const CrowdState& state, const CrowdItem& item, Int v, double sign, bool is_only_vote) {
    Int e = item.person[v], y = item.label[v], K = state.num_classes();
    for (Int z = 0; z < K; z++) {
        double share = sign * item.if_careful(v, z);
        add_to(state.confusion(e, z)[y], share);
        share *= item.careful[v];
        if (!is_only_vote || z == y) {
            add_to(state.pooled(z, y), share);
        } else {
            for (Int j = 0; j < K; j++) {
                if (j != z) add_to(state.pooled(z, j), share / (K - 1));
            }
        }
    }
    state.labels(e, y) += sign;
    Floats evidence = state.evidence[e].flat(), gained = item.gained[v].flat();
    for (Int i = 0; i < evidence.size; i++) evidence[i] += sign * gained[i];
}

// One Newton step of s_e, at most 1 long, on sum_k C_kk log a_k + (n_k - C_kk) log(1 - a_k) - s^2 / .6
void improve_skill(const CrowdState& state, Int e) {
    double gradient = -state.skill[e] / SKILL_VARIANCE, curvature = 1.0 / SKILL_VARIANCE;
    for (Int k = 0; k < state.num_classes(); k++) {
        double a = hit_rate(pooled_diagonal(state.pooled, k), state.skill[e]);
        double votes = state.confusion(e, k).sum();
        gradient += state.confusion(e, k)[k] - votes * a;
        curvature += votes * a * (1.0 - a);
    }
    state.skill[e] += std::min(1.0, std::max(-1.0, gradient / curvature));
}

bool has_only_one_vote(const CrowdItem& item) { return item.person.size == 1 && top_of(item.log_f) >= 0; }

// Changes the prevalence and the votes' contributions by an item: sign 1 or -1.
void change_by_item(const CrowdState& state, const CrowdItem& item, double sign) {
    bool is_only_vote = has_only_one_vote(item);
    for (Int v = 0; v < item.person.size; v++) {
        change_by_vote(state, item, v, sign, is_only_vote);
        if (sign > 0.0) improve_skill(state, item.person[v]);
    }
    for (Int k = 0; k < state.num_classes(); k++) state.prevalence[k] += sign * item.belief[k];
}

}  // namespace

// Learns from an item that closes with the belief r. With r'(z) = r(z) / l(z), the belief without this vote:
//   c(z) = r'(z) q_e[z,y] / sum,   g = w_careful sum_z r'(z) q_e[z,y] / sum_z r'(z) l(z),
//   evidence of a type t: log p_t(y); careful: log of the mean of q_e[z,y] under r'; to judge people, in place of q_e
//   cen[z,y] with s_e at least -1, and beside a prediction .9 cen[z,y] + .1 prior(y).
void add_item(const CrowdState& state, const CrowdItem& item) {
    Frame frame;
    Int K = state.num_classes(), top = top_of(item.log_f);
    Floats likelihood = frame.floats(K), without = frame.floats(K), prior = frame.floats(K);
    FloatGrid rows = frame.grid(2, K);
    prior_into(state, item.log_f, prior);
    for (Int v = 0; v < item.person.size; v++) {
        Int e = item.person[v], y = item.label[v];
        Types types = likelihood_into(state, e, y, top, likelihood);
        careful_into(state, e, y, rows[FOR_WEIGHTS]);
        centre_into(state, std::max(state.skill[e], LEAST_SKILL), y, rows[FOR_JUDGEMENT]);
        if (top >= 0) {
            for (double& each : rows[FOR_JUDGEMENT]) each = (1.0 - ALIKE) * each + ALIKE * prior[y];
        }
        double others = 0.0, total = 0.0;
        for (Int z = 0; z < K; z++) {
            without[z] = item.belief[z] / std::max(likelihood[z], CLOSE_TO_ZERO);
            others += without[z];
            total += without[z] * likelihood[z];
        }
        double seen[2] = {0.0, 0.0};
        for (Int way : {FOR_WEIGHTS, FOR_JUDGEMENT}) {
            for (Int z = 0; z < K; z++) seen[way] += without[z] * rows(way, z);
            for (Int t = 0; t < NUM_TYPES; t++) {
                double probability = std::isnan(types.share[t]) ? seen[way] / others : types.share[t];
                item.gained(v, way)[t] = std::log(std::max(probability, CLOSE_TO_ZERO));
            }
        }
        for (Int z = 0; z < K; z++) item.if_careful(v, z) = without[z] * rows(FOR_WEIGHTS, z) / seen[FOR_WEIGHTS];
        item.careful[v] = types.careful * seen[FOR_WEIGHTS] / total;
    }
    change_by_item(state, item, 1.0);
}

// Undoes `add_item`, except for the Newton steps of the skills.
void take_back(const CrowdState& state, const CrowdItem& item) { change_by_item(state, item, -1.0); }

// The belief about an item from its votes: r.
void judge(const CrowdState& state, const CrowdItem& item) {
    prior_into(state, item.log_f, item.belief);
    count_votes(state, item.log_f, item.person, item.label, item.belief);
}

// Recomputes the belief about a closed item from what has been learned from other items since, and learns from it anew.
void revise(const CrowdState& state, const CrowdItem& item) {
    take_back(state, item);
    judge(state, item);
    add_item(state, item);
}

// Two damped Newton steps of tau and of each b_k on the beliefs r_i about items with a prediction:
//   sum_i sum_z r_i(z) log softmax(tau log f_i + b)_z + log Gamma(tau; 3, 2) + sum_k log N(b_k; 0, .25)
// with the second derivative of each parameter alone; tau moves by half at most, and stays at most 1. log_f, belief (n, K).
void refit_prior(const CrowdState& state, InFloatGrid log_f, InFloatGrid belief) {
    Frame frame;
    Int K = state.num_classes();
    Floats gradients = frame.floats(K), curvatures = frame.floats(K), prior = frame.floats(K);
    for (Int step = 0; step < 2; step++) {
        double tau = state.tau[0], gradient = (TAU_SHAPE - 1.0) / tau - TAU_RATE;
        double curvature = (TAU_SHAPE - 1.0) / (tau * tau);
        for (Int k = 0; k < K; k++) gradients[k] = -state.bias[k] / BIAS_VARIANCE;
        curvatures.fill(1.0 / BIAS_VARIANCE);
        for (Int i = 0; i < log_f.rows; i++) {
            if (top_of(log_f[i]) < 0) continue;
            prior_into(state, log_f[i], prior);
            double mean = 0.0, square = 0.0;
            for (Int k = 0; k < K; k++) {
                double surplus = belief(i, k) - prior[k];
                gradient += surplus * log_f(i, k);
                mean += prior[k] * log_f(i, k);
                square += prior[k] * (log_f(i, k) * log_f(i, k));
                gradients[k] += surplus;
                curvatures[k] += prior[k] * (1.0 - prior[k]);
            }
            curvature += square - mean * mean;
        }
        tau += std::min(0.5 * tau, std::max(-0.5 * tau, STEP * gradient / curvature));
        state.tau[0] = std::min(tau, MOST_TAU);
        for (Int k = 0; k < K; k++) state.bias[k] += STEP * gradients[k] / curvatures[k];
    }
}

}  // namespace quorate
