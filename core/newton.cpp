// Newton's step: a dense Cholesky factor for few parameters, conjugate gradients for many. A descent direction even where
// the objective is not convex. Sums have the same order on every machine.
#include "learning_parts.hpp"

namespace quorate {

namespace {

// matrix + damping I = U'U; false if a pivot is not above `least`.
bool cholesky(InFloatGrid matrix, double damping, double least, FloatGrid factor) {
    Int size = matrix.rows;
    for (Int a = 0; a < size; a++) {
        for (Int b = a; b < size; b++) factor(a, b) = matrix(a, b);
        factor(a, a) += damping;
    }
    for (Int a = 0; a < size; a++) {
        double* __restrict row = factor[a].data;
        if (!(row[a] > least)) return false;
        double scale = 1.0 / std::sqrt(row[a]);
        for (Int b = a; b < size; b++) row[b] *= scale;
        for (Int c = a + 1; c < size; c++) {
            double* __restrict target = factor[c].data;
            double multiple = row[c];
            for (Int b = c; b < size; b++) target[b] -= multiple * row[b];
        }
    }
    return true;
}

}  // namespace

// matrix + damping I = U'U -> factor, with the damping raised until the sum is positive definite; returns the damping.
double factorise(InFloatGrid matrix, double damping, FloatGrid factor) {
    double largest = 0.0;
    for (Int a = 0; a < matrix.rows; a++) largest = std::max(largest, std::abs(matrix(a, a)));
    for (int attempt = 0; attempt < 20; attempt++) {
        if (cholesky(matrix, damping, 1e-12 * largest, factor)) return damping;
        damping = std::max(4.0 * damping, 1e-3 * largest);
    }
    factor.flat().fill(0.0);
    for (Int a = 0; a < matrix.rows; a++) factor(a, a) = 1.0;
    return 1.0;
}

// Solves U'U step = -gradient.
void dense_step(InFloatGrid factor, InFloats gradient, Floats step) {
    Int size = gradient.size;
    for (Int a = 0; a < size; a++) step[a] = -gradient[a];
    for (Int a = 0; a < size; a++) {
        InFloats row = factor[a];
        step[a] /= row[a];
        double known = step[a];
        for (Int b = a + 1; b < size; b++) step[b] -= known * row[b];
    }
    for (Int a = size - 1; a >= 0; a--) {
        InFloats row = factor[a];
        double total = step[a];
        for (Int b = a + 1; b < size; b++) total -= row[b] * step[b];
        step[a] = total / row[a];
    }
}

namespace {

double dot(InFloats a, InFloats b) {
    double total = 0.0;
    for (Int i = 0; i < a.size; i++) total += a[i] * b[i];
    return total;
}

}  // namespace

// Solves Hessian step = -gradient to relative `accuracy` by conjugate gradients, preconditioned by the diagonal.
void conjugate_step(InFloats packed, const Evidence& evidence, const Hyperprior& prior, const Traces& traces,
                    InFloats gradient, double accuracy, Floats step) {
    Frame frame;
    Int size = gradient.size;
    Floats scale = frame.floats(size), residual = frame.floats(size), direction = frame.floats(size), image = frame.floats(size);
    hessian_diagonal(packed, evidence, prior, traces, gradient, scale);
    double largest = 0.0;
    for (double& each : scale) {
        each = std::abs(each);
        largest = std::max(largest, each);
    }
    for (double& each : scale) each = 1.0 / std::max({each, 1e-6 * largest, 1e-12});
    step.fill(0.0);
    for (Int a = 0; a < size; a++) residual[a] = -gradient[a], direction[a] = scale[a] * residual[a];
    double energy = dot(residual, direction), goal = accuracy * accuracy * energy;
    for (Int iteration = 0; iteration < 10 * size; iteration++) {
        if (energy <= goal) return;
        hessian_product(packed, evidence, prior, traces, gradient, direction, image);
        double bend = dot(direction, image);
        if (!(bend > 0.0)) {
            if (iteration == 0) std::copy(direction.begin(), direction.end(), step.data);
            return;
        }
        double ratio = energy / bend, before = energy;
        for (Int a = 0; a < size; a++) step[a] += ratio * direction[a], residual[a] -= ratio * image[a];
        energy = 0.0;
        for (Int a = 0; a < size; a++) energy += residual[a] * residual[a] * scale[a];
        for (Int a = 0; a < size; a++) direction[a] = scale[a] * residual[a] + energy / before * direction[a];
    }
}

}  // namespace quorate
