// What a crowd's votes say of an item: rows of people, their types, beliefs, and what another vote would be worth.
#include "crowd.hpp"

namespace quorate {
namespace {

constexpr double POOLED_VOTES = 20.0, OWN_VOTES = 4.0;  // votes that the prior of the pooled and of the own rows counts
constexpr double DIAGONAL = 0.75;
constexpr double TYPE_PRIOR[NUM_TYPES] = {0.90, 0.05, 0.03, 0.02};
constexpr double HABIT_VOTES = 0.3, COPIES = 0.9, PREVALENCE_VOTES = 2.0;
constexpr double CLOSE_TO_ZERO = 1e-12;
constexpr double LIKE_CAREFUL = std::numeric_limits<double>::quiet_NaN();

struct PooledCell {
    double diagonal, cell;  // Q[k,k] and Q[k,y]
};

// Q[k,y] = (20 pi[k,y] + P[k,y]) / (20 + sum_j P[k,j]),   pi[k,k] = 1/K + .75 (1 - 1/K), the rest of the row even
PooledCell pooled_cell(InFloatGrid pooled, Int k, Int y) {
    double even = 1.0 / pooled.columns, own = even + DIAGONAL * (1.0 - even), total = POOLED_VOTES;
    for (double votes : pooled[k]) total += votes;
    double guess = y == k ? own : (1.0 - own) / (pooled.columns - 1);
    return {(POOLED_VOTES * own + pooled(k, k)) / total, (POOLED_VOTES * guess + pooled(k, y)) / total};
}

// cen[z,y] = a if y = z, else (1 - a) Q[z,y] / (1 - Q[z,z])
double centre(double a, const PooledCell& row, bool is_hit) {
    return is_hit ? a : (1.0 - a) * row.cell / (1.0 - row.diagonal);
}

// q[z,y] = (4 cen[z,y] + C[z,y]) / (4 + n[z])
double own_row(double centre, double votes_for_y, double votes) {
    return (OWN_VOTES * centre + votes_for_y) / (OWN_VOTES + votes);
}

// p_t(y) by type: uniform 1/K; own habit (.3 + m[y]) / (.3 K + sum_j m[j]); copies the classifier .9 [y = top] + .1/K.
// Without a prediction (top = -1) nobody can copy it: a copier then votes like a careful person.
void careless_into(InFloats labels, Int y, Int top, double* share) {
    Int K = labels.size;
    share[0] = LIKE_CAREFUL;
    share[1] = 1.0 / K;
    share[2] = (HABIT_VOTES + labels[y]) / (HABIT_VOTES * K + labels.sum());
    share[3] = top < 0 ? LIKE_CAREFUL : (y == top ? COPIES : 0.0) + (1.0 - COPIES) / K;
}

// Adds up the types for one label, given their weights and p_t(y).
void sum_types(Types& types) {
    types.careful = types.careless = 0.0;
    for (Int t = 0; t < NUM_TYPES; t++) {
        if (std::isnan(types.share[t])) {
            types.careful += types.weight[t];
        } else {
            types.careless += types.weight[t] * types.share[t];
        }
    }
}

}  // namespace

double pooled_diagonal(InFloatGrid pooled, Int k) { return pooled_cell(pooled, k, k).diagonal; }

// a = sigma(logit Q[k,k] + s)
double hit_rate(double diagonal, double skill) {
    double odds = diagonal / (1.0 - diagonal) * std::exp(skill);
    return odds / (1.0 + odds);
}

// The most probable class of the prediction, or -1 without a prediction (all classes equal).
Int top_of(InFloats log_f) {
    return log_f.max() == log_f.min() ? -1 : log_f.argmax();
}

// cen[z,y] of a person with that skill, for every class z: out (K,).
void centre_into(const CrowdState& state, double skill, Int y, Floats out) {
    for (Int z = 0; z < out.size; z++) {
        PooledCell row = pooled_cell(state.pooled, z, y);
        out[z] = centre(hit_rate(row.diagonal, skill), row, y == z);
    }
}

// q_e[z,y] for every class z: out (K,).
void careful_into(const CrowdState& state, Int e, Int y, Floats out) {
    centre_into(state, state.skill[e], y, out);
    for (Int z = 0; z < out.size; z++) {
        Floats votes = state.confusion(e, z);
        out[z] = own_row(out[z], votes[y], votes.sum());
    }
}

// w_t ~ prior_t exp(evidence_t): out (4,).
void type_weights_into(InFloats evidence, double* out) {
    double most = evidence.max(), total = 0.0;
    for (Int t = 0; t < NUM_TYPES; t++) {
        out[t] = TYPE_PRIOR[t] * std::exp(evidence[t] - most);
        total += out[t];
    }
    for (Int t = 0; t < NUM_TYPES; t++) out[t] /= total;
}

// r before any vote: softmax(tau log f + b); without a classifier (2 + sum of the beliefs so far) / total. out (K,).
void prior_into(const CrowdState& state, InFloats log_f, Floats out) {
    bool is_alone = top_of(log_f) < 0;
    for (Int k = 0; k < out.size; k++) {
        out[k] = is_alone ? PREVALENCE_VOTES + state.prevalence[k] : state.tau[0] * log_f[k] + state.bias[k];
    }
    if (!is_alone) {
        double most = out.max();
        for (double& each : out) each = std::exp(each - most);
    }
    double total = out.sum();
    for (double& each : out) each /= total;
}

// l(z) = w_careful q_e[z,y] + sum_t w_t p_t(y) for every class z: out (K,). Returns w and p.
Types likelihood_into(const CrowdState& state, Int e, Int y, Int top, Floats out) {
    Types types;
    type_weights_into(state.evidence(e, FOR_WEIGHTS), types.weight);
    careless_into(state.labels[e], y, top, types.share);
    sum_types(types);
    careful_into(state, e, y, out);
    for (double& each : out) each = types.careful * each + types.careless;
    return types;
}

// r(z) ~ r(z) l(z), vote by vote: person, label (V,), belief (K,).
void count_votes(const CrowdState& state, InFloats log_f, InInts person, InInts label, Floats belief) {
    Frame frame;
    Floats likelihood = frame.floats(belief.size);
    Int top = top_of(log_f);
    for (Int v = 0; v < person.size; v++) {
        likelihood_into(state, person[v], label[v], top, likelihood);
        double total = 0.0;
        for (Int z = 0; z < belief.size; z++) {
            belief[z] *= likelihood[z];
            total += belief[z];
        }
        for (double& each : belief) each /= total;
    }
}

// What a vote of each person is worth on an item with belief r: out (n, 2). First the expected rise of the top belief,
// sum_y max_z r(z) l_y(z) - max_z r(z); then the information in nats, sum_y,z r(z) l_y(z) log(l_y(z) / p(y)), which
// ranks people if no single vote can change the answer.
void gains_into(const CrowdState& state, InInts people, InFloats log_f, InFloats belief, FloatGrid out) {
    Frame frame;
    Int K = belief.size, top = top_of(log_f);
    FloatGrid cells = frame.grid(K, K);
    Floats diagonal = frame.floats(K), hits = frame.floats(K), votes = frame.floats(K);
    for (Int z = 0; z < K; z++) {
        for (Int y = 0; y < K; y++) {
            PooledCell row = pooled_cell(state.pooled, z, y);
            diagonal[z] = row.diagonal, cells(z, y) = row.cell;
        }
    }
    double likeliest = belief.max();
    Types types;
    for (Int n = 0; n < people.size; n++) {
        Int e = people[n];
        type_weights_into(state.evidence(e, FOR_WEIGHTS), types.weight);
        for (Int z = 0; z < K; z++) {
            hits[z] = hit_rate(diagonal[z], state.skill[e]);
            votes[z] = state.confusion(e, z).sum();
        }
        double expected = 0.0, information = 0.0;
        for (Int y = 0; y < K; y++) {
            careless_into(state.labels[e], y, top, types.share);
            sum_types(types);
            double best = 0.0, seen = 0.0, entropy = 0.0;
            for (Int z = 0; z < K; z++) {
                double cen = centre(hits[z], {diagonal[z], cells(z, y)}, y == z);
                double own = own_row(cen, state.confusion(e, z)[y], votes[z]);
                double likelihood = std::max(types.careful * own + types.careless, CLOSE_TO_ZERO);
                double joint = belief[z] * likelihood;
                best = std::max(best, joint);
                seen += joint;
                entropy += joint * std::log(likelihood);
            }
            expected += best;
            information += entropy - seen * std::log(std::max(seen, CLOSE_TO_ZERO));
        }
        out(n, 0) = std::max(expected - likeliest, 0.0);
        out(n, 1) = std::max(information, 0.0);
    }
}

}  // namespace quorate
