// Votes seen -> the most probable parameters: Newton in x with the exact Hessian and backtracking, from any start.
#include "learning_parts.hpp"

namespace quorate {
namespace {

constexpr double TIGHT = 1e-10, WARM = 1e-8;  // gradient norms that a fit and a refit aim at
constexpr double SAFETY = 2.0;      // a refit does not evaluate a last step expected to end at WARM / SAFETY or below
constexpr double NEW_HESSIAN = 1e-100;  // a norm so small that the next step computes a new Hessian
constexpr double MAX_STEP = 3.0;    // longest move of a logarithm; a bias b moves 3 + 2 |b|
constexpr double MAX_LOG = 40.0;    // theta, phi, tau stay within e^-40 .. e^40; there the likelihood is flat
constexpr Int DENSE_LIMIT = 150;    // parameters above this: conjugate gradients
constexpr Int MAX_ITERATIONS = 400;

void exponentiate_point(InFloats point, Int num_logs, Floats packed) {
    for (Int p = 0; p < point.size; p++) packed[p] = p < num_logs ? std::exp(point[p]) : point[p];
}

double norm_of(InFloats gradient, double value) {
    double largest = 0.0;
    for (double each : gradient) largest = std::max(largest, std::abs(each));
    return largest / std::max(1.0, std::abs(value));
}

// Scales the step so that no coordinate moves further than MAX_STEP allows; returns gradient' step, below 0.
double shorten(Floats step, InFloats point, Int num_logs, InFloats gradient) {
    double longest = 0.0, slope = 0.0;
    for (Int p = 0; p < step.size; p++) {
        double reach = p < num_logs ? MAX_STEP : MAX_STEP + 2.0 * std::abs(point[p]);
        longest = std::max(longest, std::abs(step[p]) / reach);
        slope += step[p] * gradient[p];
    }
    if (longest > 1.0) {
        for (double& each : step) each /= longest;
        slope /= longest;
    }
    return slope;
}

}  // namespace

void fit(InFloats start, InFloatCube all_predictions, InIntGrid votes, const Hyperprior& prior, bool is_refit, Floats out,
         Floats info) {
    Frame frame;
    Evidence evidence = compress(all_predictions, votes, frame);
    double tolerance = is_refit ? WARM : TIGHT;
    Int size = start.size, num_logs = 2 + evidence.log_predictions.rows * evidence.log_predictions.columns;
    bool dense = size <= DENSE_LIMIT;
    Traces traces = empty_traces(evidence, frame);
    FloatGrid matrix = dense ? frame.grid(size, size) : FloatGrid{}, factor = dense ? frame.grid(size, size) : FloatGrid{};
    Floats point = frame.copy(start);  // x: logarithms, then the bias
    for (Int p = 0; p < num_logs; p++) point[p] = std::min(std::max(std::log(start[p]), -MAX_LOG), MAX_LOG);
    Floats trial = frame.floats(size), packed = frame.floats(size), gradient = frame.floats(size);
    Floats trial_gradient = frame.floats(size), step = frame.floats(size);
    exponentiate_point(point, num_logs, packed);
    double value = evaluate(packed, evidence, prior, traces, gradient), norm = norm_of(gradient, value);
    Int evaluations = 1, iterations = 0;
    double damping = 0.0, norm_before = NEW_HESSIAN;
    bool is_new_hessian = true, is_evaluated = true;
    while (norm > tolerance && iterations < MAX_ITERATIONS) {
        if (dense) {
            // Keep the old factor if two steps with it are enough.
            double ratio = norm / norm_before;
            if (2.0 * norm * (ratio * ratio) > tolerance || damping > 0.0) {
                hessian(packed, evidence, prior, traces, gradient, matrix);
                damping = factorise(matrix, damping > 1e-9 ? 0.1 * damping : 0.0, factor);
                is_new_hessian = true;
            } else {
                double expected = (is_new_hessian ? 2.0 : 1.0) * ratio * norm;
                is_evaluated = !is_refit || SAFETY * expected > tolerance;
                is_new_hessian = false;
            }
            dense_step(factor, gradient, step);
            if (!is_evaluated) {
                for (Int p = 0; p < size; p++) point[p] += step[p];
                for (Int p = 0; p < num_logs; p++) point[p] = std::min(std::max(point[p], -MAX_LOG), MAX_LOG);
                iterations++;
                break;
            }
        } else {
            conjugate_step(packed, evidence, prior, traces, gradient, std::min(0.1, std::sqrt(norm)), step);
        }
        double slope = shorten(step, point, num_logs, gradient), length = 1.0, trial_value = 0.0, trial_norm = 0.0;
        bool accepted = false;
        for (int attempt = 0; attempt < 40; attempt++) {
            for (Int p = 0; p < size; p++) trial[p] = point[p] + length * step[p];
            for (Int p = 0; p < num_logs; p++) trial[p] = std::min(std::max(trial[p], -MAX_LOG), MAX_LOG);
            exponentiate_point(trial, num_logs, packed);
            trial_value = evaluate(packed, evidence, prior, traces, trial_gradient);
            trial_norm = norm_of(trial_gradient, trial_value);
            evaluations++;
            double noise = 1e-13 * std::max(1.0, std::abs(value));  // smaller differences are round-off; the slope decides
            accepted = trial_value <= value + 1e-4 * length * slope;
            if (-length * slope < 1e3 * noise) accepted = trial_value <= value + noise && trial_norm < norm;
            if (accepted || -length * slope < 1e-3 * noise) break;
            length *= 0.25;
        }
        if (!accepted) break;
        std::swap(point, trial);
        std::swap(gradient, trial_gradient);
        value = trial_value;
        norm_before = length == 1.0 ? norm : NEW_HESSIAN;
        norm = trial_norm;
        iterations++;
    }
    exponentiate_point(point, num_logs, out);
    if (info.size == 0) return;
    if (!is_evaluated) {
        value = evaluate(out, evidence, prior, traces, gradient);
        norm = norm_of(gradient, value);
        evaluations++;
    }
    info[0] = static_cast<double>(iterations), info[1] = static_cast<double>(evaluations), info[2] = norm, info[3] = -value;
}

double objective(InFloats packed, InFloatCube log_predictions, InIntGrid votes, const Hyperprior& hyperprior,
                 Int curvature, InFloats direction, Floats gradient, FloatGrid out) {
    Frame frame;
    Evidence evidence = compress(log_predictions, votes, frame);
    Traces traces = empty_traces(evidence, frame);
    double value = evaluate(packed, evidence, hyperprior, traces, gradient);
    if (curvature == WHOLE) hessian(packed, evidence, hyperprior, traces, gradient, out);
    if (curvature == DIAGONAL) hessian_diagonal(packed, evidence, hyperprior, traces, gradient, out.flat());
    if (curvature == PRODUCT) hessian_product(packed, evidence, hyperprior, traces, gradient, direction, out.flat());
    return value;
}

}  // namespace quorate
