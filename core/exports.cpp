// What Python calls: each function as quorate/core.py declares it, arguments in that order.
// a: arrays, n: whole numbers, x: numbers; returns DONE, or REFUSED for values out of range.
#include "exports.hpp"
#include "stream.hpp"

using namespace quorate;

namespace {

bool is_posterior(Int code) { return code >= VOTE_SHARE && code <= INFINITE; }
bool is_rule(Int code) { return code >= ALWAYS && code <= BLENDED; }

Hyperprior hyperprior_of(const double* x) { return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}; }

bool is_window(InIntGrid votes) {
    for (Int t = 0; t < votes.rows; t++) {
        if (!are_counts(votes[t], -1)) return false;
    }
    return votes.columns > 0;
}

// P = 2 + M K, or 2 + M K + K with a bias.
bool fits_packed(Int size, Int num_classifiers, Int num_classes) {
    Int plain = 2 + num_classifiers * num_classes;
    return num_classifiers > 0 && num_classes > 0 && (size == plain || size == plain + num_classes);
}

}  // namespace

EXPORT const char* core_digest() { return QUORATE_CORE_DIGEST; }

EXPORT int plurality_finite(const Array* a, const Int*, const double*, double*) {
    InFloatGrid alpha = a[0].in_grid();
    InIntGrid votes = a[1].in_int_grid();
    if (alpha.columns == 0 || !are_counts(votes, a[2].in_ints())) return REFUSED;
    Pool pool;
    for (Int t = 0; t < alpha.rows; t++) {
        a[4].view<double>()[t] = finite_into(alpha[t], votes[t], a[2].in_ints()[t], a[3].grid<double>()[t]);
    }
    return DONE;
}

EXPORT int plurality_infinite(const Array* a, const Int*, const double*, double*) {
    InFloatGrid beta = a[0].in_grid();
    if (beta.columns == 0) return REFUSED;
    Pool pool;
    for (Int t = 0; t < beta.rows; t++) infinite_into(beta[t], a[1].grid<double>()[t]);
    return DONE;
}

EXPORT int concentrations(const Array* a, const Int*, const double* x, double*) {
    InFloatCube logs = a[2].in_cube();
    for (Int t = 0; t < logs.items; t++) {
        concentration_into(x[0], x[1], a[0].in_grid(), a[1].in(), logs[t], a[3].grid<double>()[t]);
    }
    return DONE;
}

// ln P(votes | alpha) = ln n! - sum ln h_k! + sum_k [ln Gamma(alpha_k + h_k) - ln Gamma(alpha_k)] - the same of the sums.
EXPORT int log_dirichlet_multinomial(const Array* a, const Int*, const double*, double*) {
    InIntGrid votes = a[0].in_int_grid();
    InFloatGrid alpha = a[1].in_grid();
    for (Int t = 0; t < votes.rows; t++) {
        if (!are_counts(votes[t], -1)) return REFUSED;
        Int num_votes = votes[t].sum();
        double value = rise(1.0, num_votes).log_rise - rise(alpha[t].sum(), num_votes).log_rise;
        for (Int k = 0; k < votes.columns; k++) {
            value += rise(alpha(t, k), votes(t, k)).log_rise - rise(1.0, votes(t, k)).log_rise;
        }
        a[2].view<double>()[t] = value;
    }
    return DONE;
}

EXPORT int beliefs(const Array* a, const Int* n, const double* x, double*) {
    Params params{x[0], x[1], a[0].in_grid(), a[1].in()};
    InIntGrid votes = a[4].in_int_grid();
    InInts pool_sizes = a[5].in_ints();
    if (!is_posterior(n[0]) || votes.columns == 0 || !are_counts(votes, pool_sizes)) return REFUSED;
    Pool pool;
    Frame frame;
    Floats alpha = frame.floats(votes.columns);
    for (Int t = 0; t < votes.rows; t++) {
        params.concentrate(a[2].in_cube()[t], alpha);
        belief_into(n[0], alpha, a[3].in_grid()[t], votes[t], pool_sizes[t], a[6].grid<double>()[t]);
    }
    return DONE;
}

EXPORT int answer(const Array* a, const Int*, const double* x, double* result) {
    if (a[0].shape[0] == 0 || !is_draw(x[0])) return REFUSED;
    Pool pool;
    *result = static_cast<double>(answer(a[0].in(), a[1].in_grid(), x[0]));
    return DONE;
}

EXPORT int rule_asks(const Array* a, const Int* n, const double* x, double* result) {
    InInts votes = a[1].in_ints();
    if (!is_rule(n[0]) || votes.size == 0 || n[1] < 1 || n[1] > MOST_VOTES || !are_counts(votes, -1) || !is_draw(x[2])) {
        return REFUSED;
    }
    Pool pool;
    *result = rule_asks({n[0], x[0], x[1]}, a[0].in(), votes, n[1], a[2].in(), a[3].in_grid(), x[2]);
    return DONE;
}

EXPORT int surely_asks(const Array* a, const Int* n, const double* x, double* result) {
    InInts votes = a[1].in_ints();
    if (n[0] < 1 || n[0] > MOST_VOTES || !are_counts(votes, -1)) return REFUSED;
    Pool pool;
    *result = surely_asks(x[0], a[0].in(), votes, n[0]);
    return DONE;
}

EXPORT int wins_alone(const Array* a, const Int* n, const double*, double* result) {
    InInts votes = a[1].in_ints();
    if (n[0] < 0 || n[0] >= votes.size || n[1] < 0 || n[1] > MOST_VOTES || !are_counts(votes, -1)) return REFUSED;
    *result = wins_alone(n[0], a[0].in(), votes, n[1]);
    return DONE;
}

EXPORT int expected_gain(const Array* a, const Int* n, const double*, double* result) {
    InInts votes = a[1].in_ints();
    if (votes.size < 2 || n[0] < 1 || n[0] > MOST_VOTES || !are_counts(votes, -1)) return REFUSED;
    Pool pool;
    *result = expected_gain(a[0].in(), votes, n[0], a[2].in(), a[3].in_grid());
    return DONE;
}

EXPORT int binomial_quantile(const Array*, const Int* n, const double* x, double* result) {
    if (n[0] < 0 || n[0] > MOST_VOTES) return REFUSED;
    *result = static_cast<double>(binomial_quantile(x[0], n[0], x[1]));
    return DONE;
}

EXPORT int picker_rate(const Array* a, const Int* n, const double* x, double* result) {
    if (a[0].shape[0] == 0) return REFUSED;
    *result = picker_rate(a[0].in(), n[0], a[1].in(), x[0]);
    return DONE;
}

EXPORT int picker_update(const Array* a, const Int* n, const double* x, double*) {
    InInts votes = a[2].in_ints();
    if (votes.size == 0 || !are_counts(votes, -1)) return REFUSED;
    picker_update(a[0].view<double>(), n[0], a[1].in(), votes, n[1], x[0]);
    return DONE;
}

EXPORT int decide_batch(const Array* a, const Int* n, const double* x, double*) {
    Batch batch{a[4].in_cube(), a[5].in_grid(), a[6].in_int_grid(), a[7].in_ints(), a[8].in(), a[9].in_grid()};
    Asking asking{{n[0], x[0], x[1]}, {n[1], n[2], n[3] != 0}, n[4], n[5], {x[2], x[3], a[0].in_grid(), a[1].in()},
                  {x[4], x[5], a[2].in_grid(), a[3].in()}, n[6] != 0};
    bool is_known = is_rule(n[0]) && is_posterior(n[4]) && is_posterior(n[5]);
    if (!is_known || batch.votes.columns == 0 || !are_counts(batch.votes, batch.pool_sizes)) return REFUSED;
    if (!are_draws(batch.tie_draws)) return REFUSED;
    Pool pool;
    decide_batch(batch, asking, a[10].grid<double>(), a[11].view<Int>(), a[12].view<Int>());
    return DONE;
}

EXPORT int fit(const Array* a, const Int* n, const double* x, double*) {
    InFloatCube logs = a[1].in_cube();
    if (!is_window(a[2].in_int_grid()) || !fits_packed(a[0].shape[0], logs.rows, logs.columns)) return REFUSED;
    Pool pool;
    fit(a[0].in(), logs, a[2].in_int_grid(), hyperprior_of(x), n[0] != 0, a[3].view<double>(), a[4].view<double>());
    return DONE;
}

EXPORT int objective(const Array* a, const Int* n, const double* x, double* result) {
    InFloatCube logs = a[1].in_cube();
    FloatGrid out = a[5].grid<double>();
    Int size = a[0].shape[0], rows = n[0] == WHOLE ? size : n[0] != NO_CURVATURE;
    if (!is_window(a[2].in_int_grid()) || !fits_packed(size, logs.rows, logs.columns)) return REFUSED;
    if (n[0] < NO_CURVATURE || n[0] > PRODUCT || out.rows != rows) return REFUSED;
    if (n[0] == PRODUCT && a[3].shape[0] != size) return REFUSED;
    Pool pool;
    *result = objective(a[0].in(), logs, a[2].in_int_grid(), hyperprior_of(x), n[0], a[3].in(), a[4].view<double>(), out);
    return DONE;
}

EXPORT int run_stream(const Array* a, const Int* n, const double* x, double*) {
    Inputs inputs{a[0].grid<const std::int16_t>(), a[1].in_ints(), a[2].in_cube(), a[3].in_grid(), a[4].in(),
                  a[5].in(), a[6].in(), a[7].in_ints(), a[8].in_grid()};
    Method method{n[0], x[0], n[1], n[2] != 0, n[3], n[4] != 0, n[5], n[6] != 0, n[7] != 0, n[8], n[9] != 0, n[10], n[11],
                  n[12], n[13]};
    StreamState state{a[9].view<double>(), a[10].cube<double>(), a[11].grid<Int>(), a[12].view<double>(),
                      a[13].view<Int>(), a[14].in()};
    Outputs outputs{a[15].view<Int>(), a[16].view<Int>(), a[17].view<double>(), a[18].view<Int>(), a[19].grid<double>(),
                    a[20].view<Int>(), a[21].grid<double>()};
    Int first = n[14], last = n[15], num_items = inputs.votes.rows, num_classes = inputs.log_predictions.columns;
    bool is_known = method.quota_kind >= 0 && method.quota_kind <= 2 && is_rule(method.rule_kind) &&
                    is_posterior(method.ask_posterior) && is_posterior(method.predict_posterior);
    bool has_room = method.window > 0 && method.window <= state.window_votes.rows && method.refit_every > 0;
    bool is_state = fits_packed(state.packed.size, inputs.log_predictions.rows, num_classes) && is_window(state.window_votes);
    for (Int count : state.counts) is_state = is_state && count >= 0;
    if (!is_known || !has_room || !is_state || first < 0 || first > last || last > num_items) return REFUSED;
    for (Int t = first; t < last; t++) {
        Int recorded = inputs.recorded[t], pool_size = inputs.pool_sizes[t];
        if (recorded < 0 || recorded > inputs.votes.columns || pool_size < 0 || pool_size > MOST_VOTES) return REFUSED;
        if (num_classes * pool_size > MOST_NUMBERS / 4 || !is_draw(inputs.tie_draws[t])) return REFUSED;
        for (std::int16_t vote : inputs.votes[t].part(0, recorded)) {
            if (vote < 0 || vote >= num_classes) return REFUSED;
        }
    }
    Pool pool;
    run_stream(inputs, method, hyperprior_of(x + 1), state, outputs, first, last);
    return DONE;
}
