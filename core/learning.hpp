// The most probable parameters, given predictions and votes.
#pragma once

#include "numbers.hpp"

namespace quorate {

// theta ~ Gamma(theta_shape, theta_rate), phi likewise, tau ~ Gamma(tau_shape, M tau_rate); log tau_mk shrunk to their
// mean over k with deviation `tau_sd` (0: independent); bias ~ N(0, bias_sd^2), or Student's t with `bias_df` above 0.
struct Hyperprior {
    double theta_shape, theta_rate, phi_shape, phi_rate, tau_shape, tau_rate, tau_sd, bias_sd, bias_df;
};

// argmax over Theta = (theta, phi, tau (M, K)[, bias (K)]) of sum_t ln DirMult(votes_t; alpha_t(Theta)) + ln p(Theta).
// log_predictions (W, M, K), votes (W, K). `start`, `out` (P,) may be the same array; a bias is learned iff
// P = 2 + M K + K. A refit ends at a gradient norm of 1e-8, other fits at 1e-10.
// `info` (4,) or (0,): iterations, evaluations, gradient norm, log posterior.
void fit(InFloats start, InFloatCube log_predictions, InIntGrid votes, const Hyperprior& hyperprior, bool is_refit,
         Floats out, Floats info);

// What `objective` adds to value and gradient.
enum Curvature : Int { NO_CURVATURE, WHOLE, DIAGONAL, PRODUCT };

// -ln p(votes in their order | Theta) - ln p(Theta) at `packed` (P,), its gradient (P,) in x, and of its Hessian: all of
// it (P, P), its diagonal (P,), or its product with `direction` (P,).
double objective(InFloats packed, InFloatCube log_predictions, InIntGrid votes, const Hyperprior& hyperprior,
                 Int curvature, InFloats direction, Floats gradient, FloatGrid out);

// Is it time to fit a window of `num_items`? After every `refit_every` closed items; or, proportionally to the window,
// after refit_every num_items / 500 since the last fit.
inline bool fit_is_due(Int num_closed, Int fitted_after, Int num_items, Int refit_every, bool proportional) {
    if (proportional) return num_items > 0 && (num_closed - fitted_after) * 500 >= refit_every * num_items;
    return num_closed % refit_every == 0;
}

}  // namespace quorate
