// The stopping rules: ask for one more vote, or stop?
#include "decision.hpp"

namespace quorate {
namespace {

// Weighted probabilities for V: with a = argmin r, out_k = p_k (C[k, a] - min_b C[k, b]) for k != a, what is saved if k
// turns out to win. out_a is above their sum, so that a leads.
void weigh_for_gain(InFloatGrid costs, InFloats probs, double tie_draw, Floats out) {
    Int chosen = answer(probs, costs, tie_draw);
    double total = 0.0;
    for (Int k = 0; k < probs.size; k++) {
        if (k == chosen) continue;
        out[k] = probs[k] * (costs(k, chosen) - costs[k].min());
        total += out[k];
    }
    out[chosen] = total + 1.0;
}

// Weighted probabilities for the threshold: the largest is 1 - min_a r(a).
void weigh_for_threshold(InFloatGrid costs, InFloats probs, double tie_draw, Floats out) {
    Int chosen = answer(probs, costs, tie_draw);
    double left = expected_cost(costs, probs, chosen);
    out.fill(-1.0e300);
    out[chosen] = 1.0 - left;
}

// The G at which sqrt(V G) is `min_gain`.
double expected_needed(double min_gain, double optimistic) { return min_gain * (min_gain / optimistic); }

// min(V, sqrt(V G)) > min_gain, without computing G itself.
bool blended_asks(double min_gain, InFloats probs, InFloats weighted, InInts votes, Int num_remaining, InFloats alpha,
                  InFloatGrid error_costs) {
    double optimistic = optimistic_gain(weighted, votes, num_remaining);
    if (optimistic <= min_gain || min_gain == 0.0) return optimistic > min_gain;
    return gains_more_than(expected_needed(min_gain, optimistic), alpha, votes, num_remaining, probs, error_costs);
}

// P(p > 1/2), p ~ Beta(top + 1, second + 1): the chance that the leader is ahead of the runner-up.
double beta_leads(InInts votes) {
    Int top = 0, second = 0;
    for (Int count : votes) {
        if (count > top) {
            second = top, top = count;
        } else if (count > second) {
            second = count;
        }
    }
    Int trials = top + second + 1;
    double log_term = -trials * std::log(2.0), total = 0.0;
    for (Int successes = 0; successes <= top; successes++) {
        total += std::exp(log_term);
        log_term += std::log((trials - successes) / (successes + 1.0));
    }
    return std::min(total, 1.0);
}

}  // namespace

// V = max over 1 <= j <= R of (1/j) sum of p_k over the k != t with max(1, votes_t - votes_k + 1) <= j, t = argmax p.
double optimistic_gain(InFloats probs, InInts votes, Int num_remaining) {
    Int leader = probs.argmax();
    double best = 0.0;
    for (Int k = 0; k < probs.size; k++) {
        Int needed = std::max<Int>(1, votes[leader] - votes[k] + 1);
        if (k == leader || needed > num_remaining) continue;
        double mass = 0.0;
        for (Int j = 0; j < probs.size; j++) {
            if (j != leader && std::max<Int>(1, votes[leader] - votes[j] + 1) <= needed) mass += probs[j];
        }
        best = std::max(best, mass / needed);
    }
    return best;
}

// error_costs (K, K) by truth and answer, or (0, 0); at least one vote remaining. Only BLENDED uses `alpha`.
bool rule_asks(const StoppingRule& rule, InFloats probs, InInts votes, Int num_remaining, InFloats alpha,
               InFloatGrid error_costs, double tie_draw) {
    Frame frame;
    InFloats weighted = probs;
    if (error_costs.size() > 0 && (rule.kind == BLENDED || rule.kind == THRESHOLD)) {
        Floats made = frame.floats(probs.size);
        (rule.kind == THRESHOLD ? weigh_for_threshold : weigh_for_gain)(error_costs, probs, tie_draw, made);
        weighted = made;
    }
    switch (rule.kind) {
        case THRESHOLD: return weighted.max() <= rule.first;
        case BLENDED: return blended_asks(rule.first, probs, weighted, votes, num_remaining, alpha, error_costs);
        case QUORUM: return votes.max() < rule.first;
        case UNANIMOUS: {
            Int num_votes = votes.sum();
            return num_votes < rule.first || (votes.max() < num_votes && num_votes < rule.second);
        }
        case BETA: return beta_leads(votes) < rule.first;
        default: return true;
    }
}

// True if `blended_asks` certainly is, by bounds that cost less than the posterior. By q_k, of `wins_alone`: a class with
// q_k > 0 can win, so V > 0; where G depends on the two leading classes only, their order is certain, and V and G are at
// least what q gives, both can be compared with what the rule needs. False if this decides nothing.
bool surely_asks(double min_gain, InFloats alpha, InInts votes, Int num_remaining) {
    constexpr double MARGIN = 4.0 * TIE_WIDTH;                   // for rounding; wider than a tie
    constexpr Int FEWEST_REMAINING = 5, MOST_REMAINING = 1000;  // fewer: it saves nothing; more: binomials overflow
    if (num_remaining < FEWEST_REMAINING || num_remaining > MOST_REMAINING) return false;
    bool by_two = order_decides(votes.size, num_remaining);
    if (min_gain > 0.0 && !by_two) return false;
    Int first = -1, second = -1, third = -1;  // by votes, then by alpha
    for (Int k = 0; k < votes.size; k++) {
        if (first < 0 || votes[k] > votes[first] || (votes[k] == votes[first] && alpha[k] > alpha[first])) {
            second = first, first = k;
        } else if (second < 0 || votes[k] > votes[second] || (votes[k] == votes[second] && alpha[k] > alpha[second])) {
            second = k;
        }
    }
    if (second < 0 || votes[first] - votes[second] + 1 > num_remaining) return false;
    double least = wins_alone(second, alpha, votes, num_remaining);
    if (least <= MARGIN) return false;
    double most = wins_alone(first, alpha, votes, num_remaining);
    if (min_gain == 0.0) return most > MARGIN;
    for (Int k = 0; k < votes.size; k++) {
        if (k != first && k != second && (third < 0 || alpha[k] + votes[k] > alpha[third] + votes[third])) third = k;
    }
    double own = alpha[first] + votes[first], next_own = alpha[second] + votes[second];
    double ahead = own - next_own, clear = next_own - alpha[third] - votes[third];
    if (most * ahead <= MARGIN * (own + num_remaining) || least * clear <= MARGIN * (next_own + num_remaining)) return false;
    Frame frame;
    Floats bounds = frame.floats(votes.size);  // at most the probability of each class to win
    double doubt = 0.0;
    for (Int k = 0; k < votes.size; k++) {
        bounds[k] = k != first && k != second ? wins_alone(k, alpha, votes, num_remaining) : least;
        doubt += k != first ? bounds[k] : 0.0;
    }
    bounds[first] = 2.0;  // it leads
    double lowest = optimistic_gain(bounds, votes, num_remaining) - MARGIN;
    if (lowest <= min_gain) return false;
    double enough = expected_needed(min_gain, lowest);
    return doubt / num_remaining - MARGIN > enough ||
           plan_of_two_gains(enough, alpha, votes, num_remaining, first, second);
}

}  // namespace quorate
