// The two models of a panel's votes, mixed, and the exact plan of whom to ask: dynamic programming over all votes.
#include "panel.hpp"

#include "posterior.hpp"

namespace quorate {
namespace {

constexpr double BIN_CUTS[] = {0.3, 0.7, 0.95};  // of pi
constexpr double ROUND_OFF = 1e-12;              // smaller gains count as 0

// What is believed about the m votes that are missing, given those so far.
struct Beliefs {
    Ints who;        // (m,) members without a vote
    Floats latent;   // (3 K,) P(d, z | f, votes)
    double members;  // weight of the members' model
    Floats beta;     // (K,) alpha + votes, of FinExp
    Ints seen;       // (K,) votes so far
};

Beliefs beliefs_of(const PanelState& state, InFloatGrid log_f, InInts votes, Frame& frame) {
    Int K = state.num_classes(), m = 0;
    Ints who = frame.ints(votes.size);
    for (Int e = 0; e < votes.size; e++) {
        if (votes[e] == UNSEEN) who[m++] = e;
    }
    Beliefs found{who.part(0, m), frame.floats(DIFFICULTIES * K), 0.0, frame.floats(K), frame.ints(K)};
    double members = latent_into(state, log_f, votes, frame.ints(K), found.latent);
    double exchangeable = polya_into(state, log_f, votes, found.beta, found.seen);
    double lead = state.log_members - state.log_exchangeable + members - exchangeable;  // softmax(L + log P(votes | f))
    double odds = std::exp(-std::abs(lead));
    found.members = (lead < 0.0 ? odds : 1.0) / (1.0 + odds);
    return found;
}

// Probability of the votes y of all m members, given those so far; writes the votes of the whole panel to counts (K,).
//   v sum_{d,z} P(d,z) prod_e q_e[d,z,y_e] + (1 - v) prod_e (beta[y_e] + earlier votes for y_e) / (sum beta + e)
// digits (m,) are y + 1. head (3 K,), P(d,z) times the part of all but the last member, is kept between calls: it is new
// when the last member's digit is K, the first one that the plan visits.
double probability(const PanelState& state, const Beliefs& beliefs, InInts digits, Floats head, Ints counts) {
    Int m = digits.size, K = counts.size;
    std::copy(beliefs.seen.begin(), beliefs.seen.end(), counts.data);
    if (m == 0) return 1.0;
    double total = beliefs.beta.sum(), ordered = 1.0, known = 0.0;
    for (Int e = 0; e < m; e++) {
        Int y = digits[e] - 1;
        ordered *= (beliefs.beta[y] + (counts[y] - beliefs.seen[y])) / (total + e);
        counts[y]++;
    }
    Int last = digits[m - 1] - 1;
    if (last == K - 1) {
        for (Int s = 0; s < head.size; s++) {
            head[s] = beliefs.latent[s];
            for (Int e = 0; e < m - 1; e++) head[s] *= state.rows(beliefs.who[e], s)[digits[e] - 1];
        }
    }
    InFloatGrid rows = state.rows[beliefs.who[m - 1]];
    for (Int s = 0; s < head.size; s++) known += head[s] * rows(s, last);
    return beliefs.members * known + (1.0 - beliefs.members) * ordered;
}

// The plan. A state s is the vote of each of the m members, none yet or one of K classes: a number with m digits in base
// K + 1, the last member's digit the lowest. A vote leads to a larger number, so the states are visited from the last:
//   mass(s) = sum_j mass(s, e = j), W_k(s) likewise, for any e without a vote;  all have voted: W_k = mass * share of k
//   U(s)    = max( max_k W_k(s),  max_e [ -price c_e mass(s) + sum_j U(s, e = j) ] )
// probs (K,) is W(0) / mass(0); values (m,) what asking each member next gains net, nan if they cannot be asked.
PanelAdvice plan(const PanelState& state, const Beliefs& beliefs, View<const std::uint8_t> available, InFloats costs,
                 double price, Floats probs, Floats values) {
    Frame frame;
    Int m = beliefs.who.size, K = probs.size, num_states = 1;
    Ints digits = frame.ints(m), strides = frame.ints(m), counts = frame.ints(K);
    for (Int e = m - 1; e >= 0; e--) {
        strides[e] = num_states;
        num_states *= K + 1;
    }
    Floats mass = frame.floats(num_states), best = frame.floats(num_states), spent = frame.zeros(num_states);
    FloatGrid wins = frame.zero_grid(num_states, K);
    Floats head = frame.floats(beliefs.latent.size), share = frame.floats(K);
    digits.fill(K);
    values.fill(std::numeric_limits<double>::quiet_NaN());
    PanelAdvice found{-1, 0.0, 0.0};
    for (Int s = num_states - 1; s >= 0; s--) {
        Int first = std::find(digits.begin(), digits.end(), 0) - digits.begin();
        if (first == m) {
            mass[s] = probability(state, beliefs, digits, head, counts);
            plurality_share_into(counts, share);
            for (Int k = 0; k < K; k++) wins(s, k) = mass[s] * share[k];
        } else {
            mass[s] = 0.0;
            for (Int j = 1; j <= K; j++) {
                Int after = s + j * strides[first];
                mass[s] += mass[after];
                for (Int k = 0; k < K; k++) wins(s, k) += wins(after, k);
            }
        }
        double stop = wins[s].max();
        best[s] = stop;
        for (Int e = first; e < m; e++) {
            Int member = beliefs.who[e];
            if (digits[e] > 0 || !available[member]) continue;
            double value = -price * costs[member] * mass[s], paid = costs[member] * mass[s];
            for (Int j = 1; j <= K; j++) {
                value += best[s + j * strides[e]];
                paid += spent[s + j * strides[e]];
            }
            if (s == 0) values[e] = (value - stop) / mass[0];
            if (value > best[s] + ROUND_OFF * mass[s]) {
                best[s] = value, spent[s] = paid;
                if (s == 0) found = {member, (value + price * paid - stop) / mass[0], paid / mass[0]};
            }
        }
        for (Int e = m - 1; e >= 0 && --digits[e] < 0; e--) digits[e] = K;  // the digits of s - 1
    }
    for (Int k = 0; k < K; k++) probs[k] = wins(0, k) / mass[0];
    return found;
}

}  // namespace

// Whether the plan has at most MOST_STATES states: (K + 1)^m for m members without a vote.
bool is_small(InInts votes, Int num_classes) {
    Int num_states = 1;
    for (Int y : votes) {
        if (y == UNSEEN) num_states *= num_classes + 1;
        if (num_states > MOST_STATES) return false;
    }
    return true;
}

// P(d, z | f, votes) ~ pi(z) delta[bin(pi(z)), d] prod_e q_e[d,z,y_e], with pi = softmax(sum_m tau_m log f_m + b): latent
// (3 K,). bins (K,) of pi. Returns log P(votes | f) of the members' model.
double latent_into(const PanelState& state, InFloatGrid log_f, InInts votes, Ints bins, Floats latent) {
    Frame frame;
    Int K = state.num_classes();
    Floats pi = frame.floats(K);
    concentration_into(1.0, 0.0, state.tau, state.bias, log_f, pi);
    for (Int z = 0; z < K; z++) {
        bins[z] = 0;
        for (double cut : BIN_CUTS) bins[z] += pi[z] > cut;
        for (Int d = 0; d < DIFFICULTIES; d++) latent[d * K + z] = pi[z] * state.difficulty(bins[z], d);
    }
    double log_likelihood = 0.0;
    for (Int e = 0; e < votes.size; e++) {
        if (votes[e] < 0) continue;
        InFloatGrid rows = state.rows[e];
        for (Int s = 0; s < latent.size; s++) latent[s] *= rows(s, votes[e]);
        double total = latent.sum();
        for (double& each : latent) each /= total;
        log_likelihood += std::log(total);
    }
    return log_likelihood;
}

// beta = alpha + votes, where alpha = theta softmax(sum_m tau_m log f_m + b) + phi of FinExp: beta, seen (K,). Returns
// log P(votes | f) = sum over the votes of log (alpha[y] + earlier votes for y) / (sum alpha + earlier votes).
double polya_into(const PanelState& state, InFloatGrid log_f, InInts votes, Floats beta, Ints seen) {
    concentration_into(state.theta, state.phi, state.exchangeable_tau, state.exchangeable_bias, log_f, beta);
    double total = beta.sum(), log_likelihood = 0.0;
    seen.fill(0);
    for (Int y : votes) {
        if (y < 0) continue;
        log_likelihood += std::log(beta[y] / total);
        beta[y] += 1.0;
        total += 1.0;
        seen[y]++;
    }
    return log_likelihood;
}

// Whom to ask next on an item with log_f (M, K) and votes (N,): the best plan of those available (N,), at so much per unit
// of costs (N,). Writes probs (K,), who wins the whole panel, and net_gains (N,) of asking each, nan if they cannot be.
PanelAdvice advise(const PanelState& state, InFloatGrid log_f, InInts votes, View<const std::uint8_t> available,
                   InFloats costs, double price, Floats probs, Floats net_gains) {
    Frame frame;
    Beliefs beliefs = beliefs_of(state, log_f, votes, frame);
    Floats values = frame.floats(beliefs.who.size);
    PanelAdvice found = plan(state, beliefs, available, costs, price, probs, values);
    net_gains.fill(std::numeric_limits<double>::quiet_NaN());
    for (Int i = 0; i < values.size; i++) net_gains[beliefs.who[i]] = values[i];
    return found;
}

}  // namespace quorate
