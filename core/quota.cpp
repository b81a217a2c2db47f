// The quotas of the paper's baselines, drawn when an item opens.
#include "decision.hpp"

namespace quorate {

// Smallest q with P(Binomial(trials, rate) <= q) > uniform.
Int binomial_quantile(double uniform, Int trials, double rate) {
    if (rate <= 0.0) return 0;
    if (rate >= 1.0) return trials;
    double log_odds = std::log(rate) - std::log1p(-rate), log_term = trials * std::log1p(-rate), total = std::exp(log_term);
    Int count = 0;
    while (total <= uniform && count < trials) {
        log_term += std::log((trials - count) / (count + 1.0)) + log_odds;
        total += std::exp(log_term);
        count++;
    }
    return count;
}

// clip(scale v, 0, 1), v = max_y q_y (1 - q_y), q_k proportional to f_k exp(-eta loss_k), eta = sqrt(ln K / (2 (n + 1)))
// after n rounds: if the truth were y, expert k would lose 1{k != y}, a Bernoulli of variance q_y (1 - q_y) under q.
double picker_rate(InFloats losses, Int rounds, InFloats prediction, double scale) {
    double eta = std::sqrt(std::log(static_cast<double>(losses.size)) / (2.0 * (rounds + 1.0)));
    double least = losses.min(), total = 0.0, spread = 0.0;
    for (Int k = 0; k < losses.size; k++) total += prediction[k] * std::exp(-eta * (losses[k] - least));
    for (Int k = 0; k < losses.size; k++) {
        double share = prediction[k] * std::exp(-eta * (losses[k] - least)) / total;
        spread = std::max(spread, share * (1.0 - share));
    }
    return std::min(1.0, scale * spread);
}

// loss_k += f_k (share of the votes seen that say k is wrong) / P(any vote was asked).
void picker_update(Floats losses, Int rounds, InFloats prediction, InInts votes, Int pool_size, double scale) {
    Int num_votes = votes.sum();
    if (num_votes == 0) return;
    double rate = picker_rate(losses, rounds, prediction, scale);
    double p_asked = std::max(1.0 - std::pow(1.0 - rate, static_cast<double>(pool_size)), 1e-6);
    for (Int k = 0; k < losses.size; k++) {
        losses[k] += prediction[k] * (1.0 - static_cast<double>(votes[k]) / num_votes) / p_asked;
    }
}

}  // namespace quorate
