// Second derivatives of the objective, from the traces of `evaluate`, without exponentials.
//
// For one item, with w_k = theta s_k (d_k + theta e_k s_k), zero where nobody voted, and D, E, F as in `Traces`:
//
//   d2 log likelihood / dz dz     = diag(w - theta D s) + kappa s s' - s w' - w s',   kappa = 2 theta D + theta^2 F > 0
//   d2 log likelihood / dtheta dz = w / theta - (D + theta F) s
//   d2 log likelihood / dphi dz   = theta (e s - E s)
//
// and kappa s s' - s w' - w s' = kappa y y' - w w' / kappa with y = s - w / kappa: one dense rank-one term per item.
#include "learning_parts.hpp"

namespace quorate {
namespace {

constexpr Int BATCH = 4;  // items whose rank-one terms are added in one pass over the Hessian

// d2 log likelihood / dtheta dtheta, dphi dtheta, dphi dphi.
std::tuple<double, double, double> scalars(InFloats packed, const Evidence& evidence, const Traces& traces) {
    Int num_classes = traces.share.columns;
    double theta_theta = 0.0, phi_theta = 0.0, phi_phi = 0.0;
    for (Int t = 0; t < evidence.first.size - 1; t++) theta_theta += traces.sums(t, 2), phi_theta += traces.sums(t, 1);
    for (double bend : traces.bends) phi_phi += bend;
    double total = packed[0] + num_classes * packed[1];
    for (Int s = 0; s < evidence.more_than.size; s++) {
        double inverse = 1.0 / (total + s);
        theta_theta += evidence.more_than[s] * inverse * inverse;
        phi_theta += num_classes * (evidence.more_than[s] * inverse * inverse);
        phi_phi += num_classes * (num_classes * (evidence.more_than[s] * inverse * inverse));
    }
    return {theta_theta, phi_theta, phi_phi};
}

// lower[a, b] += sum_i batch[i, a] batch[i, b] for b <= a.
void add_outer(FloatGrid lower, FloatGrid batch) {
    const double *row0 = batch[0].data, *row1 = batch[1].data, *row2 = batch[2].data, *row3 = batch[3].data;
    for (Int a = 0; a < lower.rows; a++) {
        double c0 = row0[a], c1 = row1[a], c2 = row2[a], c3 = row3[a];
        double* __restrict target = lower[a].data;
        Int end = std::min(lower.columns, (a | 1) + 1);  // whole vectors; entries above the diagonal are never read
        for (Int b = 0; b < end; b++) target[b] += (c0 * row0[b] + c1 * row1[b]) + (c2 * row2[b] + c3 * row3[b]);
    }
}

// From second derivatives of the log likelihood in Theta (lower triangle) to those of the objective in x.
void to_log_scale(InFloats packed, Int num_classifiers, Int num_logs, const Hyperprior& prior, InFloats gradient,
                  FloatGrid out) {
    Frame frame;
    for (Int a = 0; a < packed.size; a++) {
        double scale = a < num_logs ? packed[a] : 1.0;
        for (Int b = 0; b <= a; b++) {
            out(a, b) *= -scale * (b < num_logs ? packed[b] : 1.0);
            out(b, a) = out(a, b);
        }
    }
    Floats own = chain_rule_diagonal(packed, num_classifiers, num_logs, prior, gradient, frame);
    for (Int a = 0; a < num_logs; a++) out(a, a) += own[a];
    if (prior.tau_sd > 0.0) {
        Int num_classes = (num_logs - 2) / num_classifiers;
        double precision = 1.0 / (prior.tau_sd * prior.tau_sd);
        for (Int a = 2; a < num_logs; a++) {
            out(a, a) += precision;
            Int first = a - (a - 2) % num_classes;  // the first class of the same classifier
            for (Int b = first; b < first + num_classes; b++) out(a, b) -= precision / num_classes;
        }
    }
    auto [bend, turn] = bias_curvature(packed, num_logs, prior);
    for (Int a = num_logs; a < packed.size; a++) {
        out(a, a) += bend;
        if (turn > 0.0) {
            for (Int b = num_logs; b < packed.size; b++) out(a, b) -= turn * (packed[a] * packed[b]);
        }
    }
}

}  // namespace

// The whole Hessian -> out (P, P), in x = [log theta, log phi, log tau, bias].
void hessian(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces, InFloats gradient,
             FloatGrid out) {
    Frame frame;
    auto& [log_predictions, first, classes, sizes, more_than, items] = evidence;
    auto& [share, slopes, bends, sums] = traces;
    Int num_classifiers = log_predictions.rows, num_classes = log_predictions.columns;
    Int blocks = (packed.size - 2) / num_classes, size = blocks * num_classes;  // one block each; one for the bias
    double theta = packed[0];
    FloatGrid by_class = frame.zero_grid(blocks * blocks, num_classes);  // the diag(w - theta D s) terms
    FloatGrid lower = frame.zero_grid(size + 2, size);  // the other terms; the last two rows: theta and phi
    FloatGrid inputs = frame.grid(blocks, num_classes);  // dz_k / d(tau_mk, bias_k): log f_mk and 1
    inputs.flat().fill(1.0);
    FloatGrid batch = frame.zero_grid(BATCH, size + 2);
    Floats pulls = frame.floats(num_classes);  // w / sqrt(kappa) of the classes with votes
    Int filled = 0;
    for (Int t = 0; t < first.size - 1; t++) {
        double kappa = 2.0 * theta * sums(t, 0) + theta * theta * sums(t, 2);
        if (!(kappa > 0.0)) continue;
        const double* s = share[t].data;
        double root = std::sqrt(kappa), inverse = 1.0 / root, level = -theta * sums(t, 0) * inverse;
        double theta_scale = -(sums(t, 0) + theta * sums(t, 2)) * inverse, phi_scale = -theta * sums(t, 1) * inverse;
        batch(filled, size) = theta_scale, batch(filled, size + 1) = phi_scale;
        for (Int m = 0; m < blocks; m++) {
            if (m < num_classifiers) std::copy_n(log_predictions(t, m).data, num_classes, inputs[m].data);
            const double* __restrict row = inputs[m].data;
            double* __restrict target = batch[filled].data + m * num_classes;
            for (Int k = 0; k < num_classes; k++) target[k] = root * s[k] * row[k];
            for (Int n = 0; n <= m; n++) {
                double* __restrict pair = by_class[m * blocks + n].data;
                const double* other = inputs[n].data;
                for (Int k = 0; k < num_classes; k++) pair[k] += level * target[k] * other[k];
            }
        }
        for (Int entry = first[t]; entry < first[t + 1]; entry++) {
            Int k = classes[entry];
            double bend = theta * bends[entry] * s[k], from_theta = s[k] * (slopes[entry] + bend);
            double own = theta * from_theta, pull = own * inverse;
            pulls[entry - first[t]] = pull;
            double theta_part = from_theta + theta_scale * pull, phi_part = bend + phi_scale * pull;
            for (Int m = 0; m < blocks; m++) {
                double x = inputs(m, k);
                batch(filled, m * num_classes + k) -= pull * x;
                lower(size, m * num_classes + k) += theta_part * x;
                lower(size + 1, m * num_classes + k) += phi_part * x;
                for (Int n = 0; n <= m; n++) by_class(m * blocks + n, k) += (own - pull * pull) * x * inputs(n, k);
            }
            for (Int before = first[t]; before < entry; before++) {
                Int j = classes[before];
                double product = pull * pulls[before - first[t]];
                for (Int m = 0; m < blocks; m++) {
                    double multiple = product * inputs(m, k);
                    for (Int n = 0; n < blocks; n++) {
                        Int a = m * num_classes + k, b = n * num_classes + j;
                        lower(std::max(a, b), std::min(a, b)) -= multiple * inputs(n, j);
                    }
                }
            }
        }
        if (++filled == BATCH) {
            add_outer(lower, batch);
            filled = 0;
        }
    }
    for (Int i = filled; i < BATCH; i++) batch[i].fill(0.0);
    add_outer(lower, batch);
    for (Int m = 0; m < blocks; m++) {
        for (Int n = 0; n <= m; n++) {
            for (Int k = 0; k < num_classes; k++) lower(m * num_classes + k, n * num_classes + k) += by_class(m * blocks + n, k);
        }
    }
    for (Int a = 0; a < size; a++) {
        out(2 + a, 0) = lower(size, a), out(2 + a, 1) = lower(size + 1, a);
        for (Int b = 0; b <= a; b++) out(2 + a, 2 + b) = lower(a, b);
    }
    std::tie(out(0, 0), out(1, 0), out(1, 1)) = scalars(packed, evidence, traces);
    to_log_scale(packed, num_classifiers, 2 + num_classifiers * num_classes, prior, gradient, out);
}

// The diagonal of `hessian` -> out (P,): the preconditioner of the conjugate gradients.
void hessian_diagonal(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                      InFloats gradient, Floats out) {
    Frame frame;
    auto& [log_predictions, first, classes, sizes, more_than, items] = evidence;
    auto& [share, slopes, bends, sums] = traces;
    Int num_classifiers = log_predictions.rows, num_classes = log_predictions.columns;
    Int num_logs = 2 + num_classifiers * num_classes;
    double theta = packed[0];
    out.fill(0.0);
    Floats weights = frame.floats(num_classes);
    for (Int t = 0; t < first.size - 1; t++) {
        InFloats s = share[t];
        double kappa = 2.0 * theta * sums(t, 0) + theta * theta * sums(t, 2);
        for (Int k = 0; k < num_classes; k++) weights[k] = (kappa * s[k] - theta * sums(t, 0)) * s[k];
        for (Int entry = first[t]; entry < first[t + 1]; entry++) {
            Int k = classes[entry];
            weights[k] += theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k]) * (1.0 - 2.0 * s[k]);
        }
        for (Int m = 0; m < num_classifiers; m++) {
            InFloats spoken = log_predictions(t, m);
            for (Int k = 0; k < num_classes; k++) out[2 + m * num_classes + k] += weights[k] * spoken[k] * spoken[k];
        }
        if (packed.size > num_logs) {
            for (Int k = 0; k < num_classes; k++) out[num_logs + k] += weights[k];
        }
    }
    auto [theta_theta, phi_theta, phi_phi] = scalars(packed, evidence, traces);
    out[0] = theta_theta, out[1] = phi_phi;
    Floats own = chain_rule_diagonal(packed, num_classifiers, num_logs, prior, gradient, frame);
    for (Int a = 0; a < num_logs; a++) out[a] = own[a] - out[a] * packed[a] * packed[a];
    if (prior.tau_sd > 0.0) {
        double precision = 1.0 / (prior.tau_sd * prior.tau_sd);
        for (Int a = 2; a < num_logs; a++) out[a] += precision * (1.0 - 1.0 / num_classes);
    }
    auto [bend, turn] = bias_curvature(packed, num_logs, prior);
    for (Int a = num_logs; a < packed.size; a++) out[a] = bend - turn * packed[a] * packed[a] - out[a];
}

// `hessian` times direction (P,) -> out (P,) in O(T M K), without forming the matrix.
void hessian_product(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                     InFloats gradient, InFloats direction, Floats out) {
    Frame frame;
    auto& [log_predictions, first, classes, sizes, more_than, items] = evidence;
    auto& [share, slopes, bends, sums] = traces;
    Int num_classifiers = log_predictions.rows, num_classes = log_predictions.columns;
    Int num_logs = 2 + num_classifiers * num_classes;
    bool with_bias = packed.size > num_logs;
    double theta = packed[0];
    Floats moved = frame.copy(direction), push = frame.floats(num_classes), pull = frame.floats(num_classes);
    for (Int a = 0; a < num_logs; a++) moved[a] *= packed[a];
    out.fill(0.0);
    for (Int t = 0; t < first.size - 1; t++) {
        InFloats s = share[t];
        for (Int k = 0; k < num_classes; k++) push[k] = with_bias ? moved[num_logs + k] : 0.0;
        for (Int m = 0; m < num_classifiers; m++) {
            InFloats spoken = log_predictions(t, m);
            for (Int k = 0; k < num_classes; k++) push[k] += moved[2 + m * num_classes + k] * spoken[k];
        }
        double along = 0.0, own_along = 0.0, theta_out = 0.0, phi_out = 0.0;
        for (Int k = 0; k < num_classes; k++) along += s[k] * push[k];
        for (Int entry = first[t]; entry < first[t + 1]; entry++) {
            Int k = classes[entry];
            double own = theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k]);
            own_along += own * push[k];
            theta_out += own / theta * push[k];
            phi_out += theta * bends[entry] * s[k] * push[k];
        }
        double theta_s = -(sums(t, 0) + theta * sums(t, 2)), phi_s = -theta * sums(t, 1);
        out[0] += theta_out + theta_s * along;
        out[1] += phi_out + phi_s * along;
        double kappa = 2.0 * theta * sums(t, 0) + theta * theta * sums(t, 2);
        double level = kappa * along - own_along + theta_s * moved[0] + phi_s * moved[1];
        for (Int k = 0; k < num_classes; k++) pull[k] = s[k] * (level - theta * sums(t, 0) * push[k]);
        for (Int entry = first[t]; entry < first[t + 1]; entry++) {
            Int k = classes[entry];
            double own = theta * s[k] * (slopes[entry] + theta * bends[entry] * s[k]);
            pull[k] += own * (push[k] - along + moved[0] / theta) + theta * bends[entry] * s[k] * moved[1];
        }
        for (Int m = 0; m < num_classifiers; m++) {
            InFloats spoken = log_predictions(t, m);
            for (Int k = 0; k < num_classes; k++) out[2 + m * num_classes + k] += pull[k] * spoken[k];
        }
        if (with_bias) {
            for (Int k = 0; k < num_classes; k++) out[num_logs + k] += pull[k];
        }
    }
    auto [theta_theta, phi_theta, phi_phi] = scalars(packed, evidence, traces);
    out[0] += theta_theta * moved[0] + phi_theta * moved[1];
    out[1] += phi_theta * moved[0] + phi_phi * moved[1];
    Floats own = chain_rule_diagonal(packed, num_classifiers, num_logs, prior, gradient, frame);
    for (Int a = 0; a < num_logs; a++) out[a] = own[a] * direction[a] - packed[a] * out[a];
    if (prior.tau_sd > 0.0) {
        double precision = 1.0 / (prior.tau_sd * prior.tau_sd);
        for (Int m = 0; m < num_classifiers; m++) {
            Int from = 2 + m * num_classes;
            double mean = 0.0;
            for (Int p = from; p < from + num_classes; p++) mean += direction[p];
            mean /= num_classes;
            for (Int p = from; p < from + num_classes; p++) out[p] += precision * (direction[p] - mean);
        }
    }
    auto [bend, turn] = bias_curvature(packed, num_logs, prior);
    double across = 0.0;  // bias' direction
    for (Int a = num_logs; a < packed.size; a++) across += packed[a] * direction[a];
    for (Int a = num_logs; a < packed.size; a++) out[a] = direction[a] * bend - turn * across * packed[a] - out[a];
}

}  // namespace quorate
