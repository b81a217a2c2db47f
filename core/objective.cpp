// The objective of learning: minus the log posterior of Theta, and its gradient in x.
//
//   -sum_t [ sum_k sum_{s<h_tk} ln(alpha_tk + s) - sum_{s<n_t} ln(sum_k alpha_tk + s) ] - ln p(Theta)
//   alpha_tk = theta s_tk + phi,   s_t = softmax(z_t),   z_t = sum_m tau_m log f_tm + bias
//   d/dz_k = -theta s_k (d_k - sum_j d_j s_j),   d_k = sum_{s<h_k} 1 / (alpha_k + s)
#include "learning_parts.hpp"

namespace quorate {

namespace {

// The gradient of `tau_sd` in x: (log tau_mk - their mean over k) / tau_sd^2; 0 for theta and phi.
Floats tau_slopes(InFloats packed, Int num_classifiers, Int num_logs, double tau_sd, Frame& frame) {
    Int num_classes = (num_logs - 2) / num_classifiers;
    Floats logs = frame.floats(num_logs), slopes = frame.zeros(num_logs);
    for (Int p = 2; p < num_logs; p++) logs[p] = std::log(packed[p]);
    for (Int m = 0; m < num_classifiers; m++) {
        Int first = 2 + m * num_classes;
        double mean = 0.0;
        for (Int p = first; p < first + num_classes; p++) mean += logs[p];
        mean /= num_classes;
        for (Int p = first; p < first + num_classes; p++) slopes[p] = logs[p] - mean;
    }
    for (Int p = 2; p < num_logs; p++) slopes[p] /= tau_sd * tau_sd;
    return slopes;
}

double sum_of_squares(InFloats values) {
    double total = 0.0;
    for (double each : values) total += each * each;
    return total;
}

}  // namespace

// -log p(Theta); turns the log likelihood's slope in Theta into the objective's gradient in x.
double add_hyperprior(InFloats packed, Int num_classifiers, Int num_logs, const Hyperprior& prior, Floats gradient) {
    Frame frame;
    double value = 0.0;
    double theta_constant = log_gamma(prior.theta_shape) - prior.theta_shape * std::log(prior.theta_rate);
    double phi_constant = log_gamma(prior.phi_shape) - prior.phi_shape * std::log(prior.phi_rate);
    double tau_rate = prior.tau_rate * num_classifiers;
    double tau_constant = log_gamma(prior.tau_shape) - prior.tau_shape * std::log(tau_rate);
    for (Int p = 0; p < num_logs; p++) {
        double own_shape = prior.tau_shape, own_rate = tau_rate, constant = tau_constant;
        if (p == 0) own_shape = prior.theta_shape, own_rate = prior.theta_rate, constant = theta_constant;
        if (p == 1) own_shape = prior.phi_shape, own_rate = prior.phi_rate, constant = phi_constant;
        value += constant;
        value += own_rate * packed[p] - (own_shape - 1.0) * std::log(packed[p]);
        gradient[p] = own_rate * packed[p] - (own_shape - 1.0) - packed[p] * gradient[p];
    }
    if (prior.tau_sd > 0.0) {
        Floats slopes = tau_slopes(packed, num_classifiers, num_logs, prior.tau_sd, frame);
        for (Int p = 2; p < num_logs; p++) {
            value += 0.5 * (prior.tau_sd * slopes[p]) * (prior.tau_sd * slopes[p]);
            gradient[p] += slopes[p];
        }
    }
    if (prior.bias_df > 0.0 && packed.size > num_logs) {
        Int num_classes = packed.size - num_logs;
        double half = 0.5 * (prior.bias_df + num_classes), squares = sum_of_squares(packed.from(num_logs));
        double scale = prior.bias_df * prior.bias_sd * prior.bias_sd;
        for (Int p = num_logs; p < packed.size; p++) {
            gradient[p] = 2.0 * half * packed[p] / (scale + squares) - gradient[p];
        }
        double own = log_gamma(0.5 * prior.bias_df) - log_gamma(half) + 0.5 * num_classes * std::log(scale * std::numbers::pi);
        return value + (own + half * std::log1p(squares / scale));
    }
    for (Int p = num_logs; p < packed.size; p++) {
        double spread = packed[p] / prior.bias_sd;
        value += 0.5 * std::log(2.0 * std::numbers::pi) + std::log(prior.bias_sd) + 0.5 * spread * spread;
        gradient[p] = spread / prior.bias_sd - gradient[p];
    }
    return value;
}

// What first derivatives in Theta add to the diagonal of the second derivatives in x = log Theta.
Floats chain_rule_diagonal(InFloats packed, Int num_classifiers, Int num_logs, const Hyperprior& prior,
                           InFloats gradient, Frame& frame) {
    Floats found = frame.floats(num_logs);
    for (Int p = 0; p < num_logs; p++) {
        double own_shape = p == 0 ? prior.theta_shape : p == 1 ? prior.phi_shape : prior.tau_shape;
        found[p] = gradient[p] + own_shape - 1.0;
    }
    if (prior.tau_sd > 0.0) {
        Floats slopes = tau_slopes(packed, num_classifiers, num_logs, prior.tau_sd, frame);
        for (Int p = 2; p < num_logs; p++) found[p] -= slopes[p];
    }
    return found;
}

// c and e of the second derivatives of -log p(bias), which are c I - e bias bias'; e = 0 for a Normal.
std::pair<double, double> bias_curvature(InFloats packed, Int num_logs, const Hyperprior& prior) {
    double variance = prior.bias_sd * prior.bias_sd;
    if (prior.bias_df == 0.0 || packed.size == num_logs) return {1.0 / variance, 0.0};
    double total = prior.bias_df * variance + sum_of_squares(packed.from(num_logs));
    double bend = (prior.bias_df + (packed.size - num_logs)) / total;
    return {bend, 2.0 * bend / total};
}

namespace {

// The sum of ln Gamma(alpha + h) - ln Gamma(alpha), alpha = theta own + phi, and its slope in phi.
std::pair<double, double> rises(double theta, double phi, InFloats own, InInts sizes, Floats slopes, Floats bends) {
    for (Int entry = 0; entry < own.size; entry++) {
        double inverse = 1.0 / (theta * own[entry] + phi);
        slopes[entry] = inverse;
        bends[entry] = -inverse * inverse;
    }
    double log_likelihood = 0.0, phi_slope = 0.0, product = 1.0;
    for (Int entry = 0; entry < own.size; entry++) {
        double alpha = theta * own[entry] + phi, slope, bend;
        if (sizes[entry] <= 8 && 1e-30 < alpha && alpha < 1e20) {
            product *= alpha;
            slope = slopes[entry], bend = bends[entry];
            for (Int votes = 1; votes < sizes[entry]; votes++) {
                double factor = alpha + votes, inverse = 1.0 / factor;
                product *= factor;
                slope += inverse;
                bend -= inverse * inverse;
            }
            if (product > 1e100 || product < 1e-100) {
                log_likelihood += std::log(product);
                product = 1.0;
            }
        } else {
            Rise found = rise(alpha, sizes[entry]);
            slope = found.slope, bend = found.bend;
            log_likelihood += found.log_rise;
        }
        slopes[entry] = slope, bends[entry] = bend;
        phi_slope += slope;
    }
    return {log_likelihood + std::log(product), phi_slope};
}

// row[k] -= sum_t (sum_j d_j s_j)_t s_tk log f_tmk, four items t in one pass.
void subtract_means(FloatGrid sums, FloatGrid share, InFloatCube log_predictions, Int m, Floats row_out) {
    double* __restrict row = row_out.data;
    Int whole = share.rows & ~Int{3}, num_classes = row_out.size;
    for (Int t = 0; t < whole; t += 4) {
        const double *s0 = share[t].data, *s1 = share[t + 1].data, *s2 = share[t + 2].data, *s3 = share[t + 3].data;
        const double *l0 = log_predictions(t, m).data, *l1 = log_predictions(t + 1, m).data;
        const double *l2 = log_predictions(t + 2, m).data, *l3 = log_predictions(t + 3, m).data;
        double c0 = sums(t, 0), c1 = sums(t + 1, 0), c2 = sums(t + 2, 0), c3 = sums(t + 3, 0);
        for (Int k = 0; k < num_classes; k++) {
            row[k] -= (c0 * (s0[k] * l0[k]) + c1 * (s1[k] * l1[k])) + (c2 * (s2[k] * l2[k]) + c3 * (s3[k] * l3[k]));
        }
    }
    for (Int t = whole; t < share.rows; t++) {
        const double *s = share[t].data, *l = log_predictions(t, m).data;
        for (Int k = 0; k < num_classes; k++) row[k] -= sums(t, 0) * (s[k] * l[k]);
    }
}

}  // namespace

// Value at the parameters `packed` (P,); fills the gradient (P,) in x and the traces.
double evaluate(InFloats packed, const Evidence& evidence, const Hyperprior& prior, Traces& traces, Floats gradient) {
    Frame frame;
    auto& [log_predictions, first, classes, sizes, more_than, items] = evidence;
    auto& [share, slopes, bends, sums] = traces;
    Int num_classifiers = log_predictions.rows, num_classes = log_predictions.columns, num_items = first.size - 1;
    Int num_logs = 2 + num_classifiers * num_classes;
    double theta = packed[0], phi = packed[1];
    softmax_rows(packed, log_predictions, share);
    Floats own = frame.floats(classes.size);  // shares of the classes voted for
    for (Int entry = 0; entry < own.size; entry++) own[entry] = share(items[entry], classes[entry]);
    auto [log_likelihood, phi_slope] = rises(theta, phi, own, sizes, slopes, bends);
    double theta_slope = 0.0;
    for (Int t = 0; t < num_items; t++) {
        double slope_share = 0.0, bend_share = 0.0, bend_share_share = 0.0;
        for (Int entry = first[t]; entry < first[t + 1]; entry++) {
            double bent = bends[entry] * own[entry];
            slope_share += slopes[entry] * own[entry];
            bend_share += bent;
            bend_share_share += bent * own[entry];
        }
        sums(t, 0) = slope_share, sums(t, 1) = bend_share, sums(t, 2) = bend_share_share;
        theta_slope += slope_share;
    }
    gradient.fill(0.0);  // the log likelihood's slope in Theta until the end
    for (Int m = 0; m < num_classifiers; m++) {
        Floats row = gradient.part(2 + m * num_classes, 2 + (m + 1) * num_classes);
        for (Int entry = 0; entry < own.size; entry++) {
            Int k = classes[entry];
            row[k] += slopes[entry] * own[entry] * log_predictions(items[entry], m)[k];
        }
        subtract_means(sums, share, log_predictions, m, row);
    }
    if (packed.size > num_logs) {
        double* __restrict row = gradient.data + num_logs;
        for (Int entry = 0; entry < own.size; entry++) row[classes[entry]] += slopes[entry] * own[entry];
        for (Int t = 0; t < num_items; t++) {
            const double* s = share[t].data;
            double slope = sums(t, 0);
            for (Int k = 0; k < num_classes; k++) row[k] -= slope * s[k];
        }
    }
    double total = theta + num_classes * phi;
    for (Int votes = 0; votes < more_than.size; votes++) {
        log_likelihood -= more_than[votes] * std::log(total + votes);
        theta_slope -= more_than[votes] / (total + votes);
        phi_slope -= num_classes * (more_than[votes] / (total + votes));
    }
    for (double& each : gradient.from(2)) each *= theta;
    gradient[0] = theta_slope, gradient[1] = phi_slope;
    return add_hyperprior(packed, num_classifiers, num_logs, prior, gradient) - log_likelihood;
}

}  // namespace quorate
