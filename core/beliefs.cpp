// Who wins the pool, by the posterior of the method; the answer; and the stops that need no rule.
#include "decision.hpp"

namespace quorate {

// out (K,) = P(class k wins the pool). The winner of a settled pool is known, whatever the posterior. If everybody
// abstained, the pool has no verdict and the prior is the result. VOTE_SHARE: votes / sum(votes), or the prediction.
void belief_into(Int posterior, InFloats alpha, InFloats prediction, InInts votes, Int pool_size, Floats out) {
    Int num_votes = votes.sum();
    if (num_votes > 0 && is_settled(votes, pool_size)) return plurality_share_into(votes, out);
    if (posterior == VOTE_SHARE) {
        double total = static_cast<double>(num_votes);
        for (Int k = 0; k < votes.size; k++) out[k] = total > 0.0 ? votes[k] / total : prediction[k];
        return;
    }
    if (pool_size == 0) {
        double total = alpha.sum();
        for (Int k = 0; k < alpha.size; k++) out[k] = alpha[k] / total;
    } else if (posterior == FINITE) {
        finite_into(alpha, votes, pool_size, out);
    } else {
        Frame frame;
        Floats beta = frame.copy(alpha);
        for (Int k = 0; k < beta.size; k++) beta[k] += votes[k];
        infinite_into(beta, out);
    }
}

// The class of the largest probability; among classes tied at the top, `tie_draw` in [0, 1) selects one.
Int pick_label(InFloats probs, double tie_draw) {
    double top = probs.max() - TIE_WIDTH;
    Int tied = 0;
    for (double each : probs) tied += each >= top;
    Int chosen = tie_draw >= 0.0 && tie_draw < 1.0 ? static_cast<Int>(tie_draw * tied) : 0;
    for (Int k = 0; k < probs.size; k++) {
        if (probs[k] >= top && chosen-- == 0) return k;
    }
    return probs.argmax();
}

// The checks before the policy's own rule, in this order: an exhausted or settled pool stops, the quota or maximum stops,
// the minimum asks; RULE: the rule decides.
Int stop_before_rule(InInts votes, Int pool_size, const Limits& limits) {
    Int num_votes = votes.sum();
    if (num_votes >= pool_size) return EXHAUSTED;
    if (limits.stops_when_settled && num_votes > 0 && is_settled(votes, pool_size)) return SETTLED;
    if (num_votes >= limits.max_votes) return QUOTA;
    return num_votes < limits.min_votes ? ASK : RULE;
}

// r(a) = sum_k p_k C[k, a]: the expected cost of answer a; costs (K, K) by truth and answer.
double expected_cost(InFloatGrid costs, InFloats probs, Int answer) {
    double total = 0.0;
    for (Int k = 0; k < probs.size; k++) total += probs[k] * costs(k, answer);
    return total;
}

// argmin_a r(a), or argmax_k p_k if all errors cost the same (costs (0, 0)); `tie_draw` selects among equals.
Int answer(InFloats probs, InFloatGrid error_costs, double tie_draw) {
    if (error_costs.size() == 0) return pick_label(probs, tie_draw);
    Frame frame;
    Floats gains = frame.floats(probs.size);
    for (Int a = 0; a < probs.size; a++) gains[a] = -expected_cost(error_costs, probs, a);
    return pick_label(gains, tie_draw);
}

}  // namespace quorate
