// The parts of a fit: evidence, objective, curvature, Newton's step. Derivatives are those in
// x = [log theta, log phi, log tau (M K, row by row), bias (K)]; `packed` is Theta itself, without logarithms.
#pragma once

#include <tuple>

#include "learning.hpp"

namespace quorate {

// Predictions and votes of the T items that have votes: item t voted for classes[first[t]:first[t + 1]], in rising order.
// sum_k alpha_k is equal for all items, so denominators need one logarithm for each vote count: hence `more_than`.
struct Evidence {
    InFloatCube log_predictions;  // (T, M, K)
    Ints first;                   // (T + 1,)
    Ints classes, sizes;          // of every class voted for: which, by how many votes
    Ints more_than;               // (max n,) how many items have more than s votes
    Ints items;                   // of every class voted for: t
};

// What `evaluate` leaves for the curvature.
struct Traces {
    FloatGrid share;       // (T, K) s = softmax
    Floats slopes, bends;  // d, e: first two derivatives of ln Gamma(alpha + h) - ln Gamma(alpha), of classes voted for
    FloatGrid sums;        // (T, 3) D = sum_k d_k s_k, E = sum_k e_k s_k, F = sum_k e_k s_k^2
};

Evidence compress(InFloatCube log_predictions, InIntGrid votes, Frame& frame);
Traces empty_traces(const Evidence& evidence, Frame& frame);
void softmax_rows(InFloats packed, InFloatCube log_predictions, FloatGrid out);

double add_hyperprior(InFloats packed, Int num_classifiers, Int num_logs, const Hyperprior& prior, Floats gradient);
Floats chain_rule_diagonal(InFloats packed, Int num_classifiers, Int num_logs, const Hyperprior& prior,
                           InFloats gradient, Frame& frame);
std::pair<double, double> bias_curvature(InFloats packed, Int num_logs, const Hyperprior& prior);
double evaluate(InFloats packed, const Evidence& evidence, const Hyperprior& prior, Traces& traces, Floats gradient);

void hessian(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces, InFloats gradient,
             FloatGrid out);
void hessian_diagonal(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                      InFloats gradient, Floats out);
void hessian_product(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                     InFloats gradient, InFloats direction, Floats out);

double factorise(InFloatGrid matrix, double damping, FloatGrid factor);
void dense_step(InFloatGrid factor, InFloats gradient, Floats step);
void conjugate_step(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                    InFloats gradient, double accuracy, Floats step);

}  // namespace quorate
