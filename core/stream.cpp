// The loop over recorded votes: open, ask, stop, learn, next item; and the same decision for many items at once.
#include "stream.hpp"

namespace quorate {
namespace {

enum QuotaKind : Int { NO_QUOTA, BY_RATE, BY_PICKER };
enum Count : Int { ENTERED, FITTED, VOTES, FITS };

Params unpacked(InFloats packed, Int num_classifiers, Int num_classes, InFloats no_bias) {
    Int end = 2 + num_classifiers * num_classes;
    return {packed[0], packed[1], {packed.data + 2, num_classifiers, num_classes},
            packed.size > end ? packed.from(end) : no_bias};
}

// The most votes of item t: the limit, or the quota drawn for it.
Int most_votes(const Inputs& inputs, const Method& method, const StreamState& state, Int t) {
    double rate;
    if (method.quota_kind == BY_RATE) {
        rate = inputs.rates[t];
    } else if (method.quota_kind == BY_PICKER) {
        rate = picker_rate(state.losses, t, inputs.mean_predictions[t], method.picker_scale);
    } else {
        return method.max_votes;
    }
    return std::min(method.max_votes, binomial_quantile(inputs.quota_draws[t], inputs.pool_sizes[t], rate));
}

// Adds the votes of closed item t to the window; fits if a fit is due.
void learn(const Inputs& inputs, const Method& method, const Hyperprior& hyperprior, const StreamState& state,
           const Outputs& outputs, Int t, InInts votes, Int num_votes) {
    Ints counts = state.counts;
    if (num_votes > 0) {
        Int slot = counts[ENTERED] % method.window;
        InFloatGrid logs = inputs.log_predictions[t];
        std::copy_n(logs.data, logs.size(), state.window_predictions[slot].data);
        std::copy(votes.begin(), votes.end(), state.window_votes[slot].data);
        counts[ENTERED]++;
        counts[VOTES] += num_votes;
    }
    Int num_items = std::min(counts[ENTERED], method.window);
    if (counts[VOTES] == 0 || counts[FITS] >= outputs.trace.rows) return;
    if (!fit_is_due(t + 1, counts[FITTED], num_items, method.refit_every, method.proportional)) return;
    IntGrid window_votes{state.window_votes.data, num_items, state.window_votes.columns};
    fit(state.packed, state.window_predictions.first(num_items), window_votes, hyperprior, true, state.packed, {});
    std::copy(state.packed.begin(), state.packed.end(), outputs.trace[counts[FITS]].data);
    outputs.trace_at[counts[FITS]] = t;
    counts[FITS]++;
    counts[FITTED] = t + 1;
    counts[VOTES] = 0;
}

}  // namespace

// Runs items first .. last - 1; writes `state` and `outputs`.
void run_stream(const Inputs& inputs, const Method& method, const Hyperprior& hyperprior, const StreamState& state,
                const Outputs& outputs, Int first, Int last) {
    Frame frame;
    Int num_classifiers = inputs.log_predictions.rows, num_classes = inputs.log_predictions.columns;
    Floats fixed = frame.floats(2 + num_classifiers * num_classes), no_bias = frame.zeros(num_classes);
    fixed.fill(1.0 / num_classifiers);
    fixed[0] = fixed[1] = 1.0;
    Params fixed_params = unpacked(fixed, num_classifiers, num_classes, no_bias);
    Ints seen = frame.ints(num_classes);
    bool same_alpha = method.ask_learned == method.predict_learned;
    Floats probs = frame.floats(num_classes), alpha = frame.floats(num_classes);
    Floats predicting_alpha = same_alpha ? alpha : frame.floats(num_classes);
    StoppingRule rule{method.rule_kind, state.rule[0], state.rule[1]};
    bool same_belief = method.ask_posterior == method.predict_posterior && same_alpha && rule.kind != ALWAYS;
    bool by_bounds = method.ask_posterior == FINITE && rule.kind == BLENDED && inputs.error_costs.size() == 0;
    for (Int t = first; t < last; t++) {
        Int pool_size = inputs.pool_sizes[t];
        InFloatGrid logs = inputs.log_predictions[t];
        InFloats mean = inputs.mean_predictions[t];
        Params learned_params = unpacked(state.packed, num_classifiers, num_classes, no_bias);
        (method.ask_learned ? learned_params : fixed_params).concentrate(logs, alpha);
        if (!same_alpha) (method.predict_learned ? learned_params : fixed_params).concentrate(logs, predicting_alpha);
        Limits limits{method.min_votes, most_votes(inputs, method, state, t), method.stops_when_settled};
        seen.fill(0);
        Int asked = 0, code = ASK;
        while (t < method.stop_asking) {
            code = stop_before_rule(seen, pool_size, limits);
            if (code == RULE && rule.kind != ALWAYS &&
                !(by_bounds && surely_asks(rule.first, alpha, seen, pool_size - asked))) {
                belief_into(method.ask_posterior, alpha, mean, seen, pool_size, probs);
                if (!rule_asks(rule, probs, seen, pool_size - asked, alpha, inputs.error_costs, inputs.tie_draws[t])) break;
            } else if (code != RULE && code != ASK) {
                break;
            }
            if (asked == inputs.recorded[t]) {
                code = SHORT;
                break;
            }
            seen[inputs.votes(t, asked)]++;
            asked++;
        }
        if (code != RULE || !same_belief) {  // otherwise probs is already the belief at which the rule stopped
            belief_into(method.predict_posterior, predicting_alpha, mean, seen, pool_size, probs);
        }
        Int label = answer(probs, inputs.error_costs, t < method.stop_asking ? inputs.tie_draws[t] : 0.0);
        if (outputs.probs.rows > 0) std::copy(probs.begin(), probs.end(), outputs.probs[t].data);
        outputs.costs[t] = asked, outputs.labels[t] = label, outputs.stops[t] = code;
        outputs.confidence[t] = probs[label];
        if (t >= method.stop_asking) continue;
        if (method.quota_kind == BY_PICKER) picker_update(state.losses, t, mean, seen, pool_size, method.picker_scale);
        if (method.learns) learn(inputs, method, hyperprior, state, outputs, t, seen, asked);
    }
}

void decide_batch(const Batch& batch, const Asking& asking, FloatGrid probs, Ints labels, Ints codes) {
    Frame frame;
    Floats asking_probs = frame.floats(probs.columns), alpha = frame.floats(probs.columns);
    for (Int t = 0; t < probs.rows; t++) {
        InInts votes = batch.votes[t];
        Int pool_size = batch.pool_sizes[t];
        InFloatGrid logs = batch.log_predictions[t];
        InFloats mean = batch.mean_predictions[t], belief = probs[t];
        asking.predict_params.concentrate(logs, alpha);
        belief_into(asking.predict_posterior, alpha, mean, votes, pool_size, probs[t]);
        labels[t] = answer(probs[t], batch.error_costs, batch.tie_draws[t]);
        codes[t] = stop_before_rule(votes, pool_size, asking.limits);
        if (codes[t] != RULE) continue;
        if (!asking.same_belief) {
            asking.ask_params.concentrate(logs, alpha);
            belief_into(asking.ask_posterior, alpha, mean, votes, pool_size, asking_probs);
            belief = asking_probs;
        }
        Int remaining = pool_size - votes.sum();
        if (rule_asks(asking.rule, belief, votes, remaining, alpha, batch.error_costs, batch.tie_draws[t])) codes[t] = ASK;
    }
}

}  // namespace quorate
