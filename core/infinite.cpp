// InfExp: who has the largest share of an infinite pool, by one integral; and bounds of it.
#include "posterior.hpp"
#include "tables.hpp"

namespace quorate {
namespace {

constexpr Int NUM_NODES = 16, HALF = NUM_NODES / 2;
constexpr double LOG_TAIL = 28.0;   // e^-28 = 7e-13 is left outside the panels at each end
constexpr double LOG_DROP = 34.0;   // a class that reaches the first panel with probability below e^-34 is dropped
constexpr double LEFT_END = -28.0;  // below t = -28 the rest of the integral has a closed form
constexpr double CLOSURE = 1e-11;   // if the sum over classes differs from 1 by more, the number of panels is doubled
constexpr double SMALLEST = 1e-290;

// e^s - 1 - s, to full relative precision.
double exp_excess(double s) {
    if (std::abs(s) > 0.25) return std::expm1(s) - s;
    double total = 0.0;
    for (int k = 10; k >= 0; k--) total = total * s + tables::INVERSE_FACTORIALS[k];
    return s * s * total;
}

double upper_offset(double excess) {
    double root = std::sqrt(2.0 * excess), s = std::min(root, std::log1p(excess + root));
    for (int step = 0; step < 3; step++) s -= (exp_excess(s) - excess) / std::expm1(s);
    return s;
}

double lower_offset(double excess) {
    double s = -std::min(excess + 1.0, excess + std::sqrt(2.0 * excess));
    for (int step = 0; step < 4; step++) s -= (exp_excess(s) - excess) / std::expm1(s);
    return s;
}

// b log b - b - log Gamma(b): the log density in t at t = log b.
double log_peak(double shape) {
    if (shape < 16.0) return shape * std::log(shape) - shape - log_gamma(shape);
    double z = 1.0 / (shape * shape);
    double stirling_error = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / shape;
    return 0.5 * std::log(shape / (2.0 * std::numbers::pi)) - stirling_error;
}

double lower_series(double shape, double x) {
    double term = 1.0, total = 1.0, divisor = shape;
    while (term > 1e-17 * total) {
        divisor += 1.0;
        term *= x / divisor;
        total += term;
    }
    return total;
}

double upper_fraction(double shape, double x) {
    double denominator = x + 1.0 - shape, c = 1e300, d = 1.0 / denominator, fraction = d;
    for (Int i = 1; i < 500; i++) {
        double numerator = i * (shape - i);
        denominator += 2.0;
        d = 1.0 / (numerator * d + denominator);
        c = denominator + numerator / c;
        fraction *= c * d;
        if (std::abs(c * d - 1.0) < 1e-16) break;
    }
    return fraction;
}

double lower_by_panels(double shape, double s, double peak, double log_tail) {
    double start = lower_offset(log_tail / shape);
    if (s <= start) return 0.0;
    double end = std::min(s, upper_offset(log_tail / shape));
    Int panels = static_cast<Int>(std::ceil((end - start) * std::sqrt(shape) / 2.5));
    double width = (end - start) / panels, total = 0.0;
    for (Int panel = 0; panel < panels; panel++) {
        double middle = start + (panel + 0.5) * width;
        for (Int i = 0; i < NUM_NODES; i++) {
            total += tables::WEIGHTS[i] * std::exp(peak - shape * exp_excess(middle + width * tables::NODES[i]));
        }
    }
    return total * width;
}

// P(Gamma(shape) <= shape e^s), given the density there. Tails of probability e^-log_tail may be neglected.
double lower_probability(double shape, double s, double peak, double density, double log_tail) {
    double x = shape * std::exp(s);
    if (shape > 30.0) return lower_by_panels(shape, s, peak, log_tail);
    if (x <= shape + 1.0 || x < 2.0) return density / shape * lower_series(shape, x);
    return 1.0 - density * upper_fraction(shape, x);
}

struct Classes {  // of each contender: shape, log(top / shape), log_peak, G_j and g_j at the start
    Floats shape, shift, peak, start, density;

    Classes first(Int size) const {
        return {shape.part(0, size), shift.part(0, size), peak.part(0, size), start.part(0, size), density.part(0, size)};
    }
};

void describe(InFloats beta, double top, Classes& classes) {
    double log_top = std::log(top);
    for (Int j = 0; j < beta.size; j++) {
        double shape = std::max(beta[j], SMALLEST);
        classes.shape[j] = shape;
        classes.shift[j] = shape > 0.5 * top ? std::log1p((top - shape) / shape) : log_top - std::log(shape);
        classes.peak[j] = log_peak(shape);
    }
}

// The offset where integration starts: the largest of three bounds.
double first_offset(const Classes& classes, double top, bool direct) {
    InFloats shapes = classes.shape, shifts = classes.shift, peaks = classes.peak;
    double log_top = std::log(top), start = lower_offset(std::min(LOG_TAIL / top, 1e300));
    if (direct) {
        double total = 0.0, log_factorials = 0.0;
        for (Int j = 0; j < shapes.size; j++) {
            total += shapes[j];
            log_factorials += (shapes[j] + 1.0) * (log_top - shifts[j]) - shapes[j] - peaks[j];  // log Gamma(b + 1)
        }
        start = std::max(start, std::max((log_factorials - LOG_TAIL) / total, LEFT_END) - log_top);
    }
    for (int step = 0; step < 3; step++) {
        double surplus = -LOG_TAIL, slope = 0.0;
        for (Int j = 0; j < shapes.size; j++) {
            double s = start + shifts[j];
            if (s < 0.0) {
                double rise = std::expm1(s);
                surplus += shapes[j] * (s < -0.25 ? rise - s : exp_excess(s));
                slope += shapes[j] * rise;
            }
        }
        if (surplus <= 0.0) break;
        start -= surplus / slope;
    }
    return start;
}

// Moves the classes that can win to the front, with G_j and g_j at start; `active` lists them; returns how many.
Int keep_contenders(Classes& classes, double start, Ints active) {
    Int size = 0;
    for (Int j = 0; j < active.size; j++) {
        double shape = classes.shape[j], shift = classes.shift[j], peak = classes.peak[j];
        double s = start + shift, depth = shape * exp_excess(s);
        if (s > 0.0 && depth > LOG_DROP) continue;
        double density = std::exp(peak - depth);
        active[size] = j;
        classes.shape[size] = shape, classes.shift[size] = shift, classes.peak[size] = peak;
        classes.start[size] = lower_probability(shape, s, peak, density, LOG_DROP);
        classes.density[size] = density;
        size++;
    }
    return size;
}

// e^(shape * width * MIRRORED) for the shapes (n,) and 1 -> factors (n + 1, NUM_NODES), half by reciprocals.
void factorise(InFloats shapes, double width, FloatGrid factors) {
    Frame frame;
    FloatGrid left = frame.grid(factors.rows, HALF);
    for (Int j = 0; j < factors.rows; j++) {
        double scale = width * (j < shapes.size ? shapes[j] : 1.0);
        for (Int i = 0; i < HALF; i++) left(j, i) = scale * tables::MIRRORED[i];
    }
    exponentiate(left.flat());
    for (Int j = 0; j < factors.rows; j++) {
        for (Int i = 0; i < HALF; i++) {
            factors(j, i) = left(j, i);
            factors(j, HALF + i) = 1.0 / left(j, i);
        }
    }
}

// Fills cdf with G_j at the nodes from G_j = edge where the panel begins; returns G_j where it ends.
double accumulate(double edge, const double* __restrict d, double* __restrict cdf) {
    using tables::EVEN, tables::ODD, tables::WEIGHTS;
    double e[HALF], o[HALF];
    for (Int q = 0; q < HALF; q++) e[q] = d[q] + d[HALF + q], o[q] = d[q] - d[HALF + q];
    double total = (WEIGHTS[0] * e[0] + WEIGHTS[1] * e[1]) + (WEIGHTS[2] * e[2] + WEIGHTS[3] * e[3]);
    total += (WEIGHTS[4] * e[4] + WEIGHTS[5] * e[5]) + (WEIGHTS[6] * e[6] + WEIGHTS[7] * e[7]);
    double middle = edge + 0.5 * total;
    for (Int i = 0; i < HALF; i++) {
        double even = (EVEN[0][i] * o[0] + EVEN[1][i] * o[1]) + (EVEN[2][i] * o[2] + EVEN[3][i] * o[3]);
        even += (EVEN[4][i] * o[4] + EVEN[5][i] * o[5]) + (EVEN[6][i] * o[6] + EVEN[7][i] * o[7]);
        double odd = (ODD[0][i] * e[0] + ODD[1][i] * e[1]) + (ODD[2][i] * e[2] + ODD[3][i] * e[3]);
        odd += (ODD[4][i] * e[4] + ODD[5][i] * e[5]) + (ODD[6][i] * e[6] + ODD[7][i] * e[7]);
        cdf[i] = middle + even + odd;
        cdf[HALF + i] = middle + even - odd;
    }
    return edge + total;
}

// Fills probs (size,); returns how far their sum, or any G_j at the end, is from 1.
double integrate(const Classes& classes, double top, double start, double end, Int panels, bool direct, Floats probs) {
    Frame frame;
    Int size = probs.size;
    double width = (end - start) / panels;
    FloatGrid factors = frame.grid(size + 1, NUM_NODES), densities = frame.grid(size + 1, NUM_NODES);
    FloatGrid cdfs = frame.grid(size + 1, NUM_NODES), sums = frame.zero_grid(size + 1, NUM_NODES);
    FloatGrid before = frame.grid(size + 1, NUM_NODES), after = frame.grid(size + 1, NUM_NODES);
    FloatGrid dampings = frame.grid(panels, NUM_NODES);
    Floats edges = frame.copy(classes.start), amplitudes = frame.floats(size), growth = frame.floats(size);
    if (direct) {
        factorise(classes.shape, width, factors);
        for (Int j = 0; j < size; j++) {
            double half = std::exp(0.5 * classes.shape[j] * width);
            growth[j] = half * half;
            amplitudes[j] = width * half * classes.density[j];
        }
        double x_start = top * std::exp(start);
        for (Int panel = 0; panel < panels; panel++) {
            double x_middle = top * std::exp(start + (panel + 0.5) * width);
            for (Int i = 0; i < NUM_NODES; i++) dampings(panel, i) = x_start - x_middle * factors(size, i);
        }
        exponentiate(dampings.flat());
    }
    for (Int panel = 0; panel < panels; panel++) {
        double middle = start + (panel + 0.5) * width;
        for (Int i = 0; i < NUM_NODES; i++) before(0, i) = 1.0, after(size, i) = tables::MIRRORED_WEIGHTS[i];
        for (Int j = 0; j < size; j++) {
            double* density = densities[j].data;
            if (direct) {
                const double *factor = factors[j].data, *damping = dampings[panel].data;
                for (Int i = 0; i < NUM_NODES; i++) density[i] = amplitudes[j] * factor[i] * damping[i];
                amplitudes[j] *= growth[j];
            } else {
                for (Int i = 0; i < NUM_NODES; i++) {
                    double s = middle + width * tables::MIRRORED[i] + classes.shift[j];
                    density[i] = width * std::exp(classes.peak[j] - classes.shape[j] * exp_excess(s));
                }
            }
            edges[j] = accumulate(edges[j], density, cdfs[j].data);
            for (Int i = 0; i < NUM_NODES; i++) before(j + 1, i) = before(j, i) * cdfs(j, i);
        }
        for (Int j = size - 1; j >= 0; j--) {
            for (Int i = 0; i < NUM_NODES; i++) after(j, i) = after(j + 1, i) * cdfs(j, i);
        }
        for (Int j = 0; j < size; j++) {
            for (Int i = 0; i < NUM_NODES; i++) sums(j, i) += densities(j, i) * before(j, i) * after(j + 1, i);
        }
    }
    // Add up the nodes and, left of the first panel, int g_k prod G_j = b_k / S prod G_j(start).
    double left = 1.0, all_shapes = 0.0, total = 0.0, defect = 0.0;
    for (Int j = 0; j < size; j++) {
        left *= classes.start[j];
        all_shapes += classes.shape[j];
    }
    for (Int j = 0; j < size; j++) {
        probs[j] = left * (classes.shape[j] / all_shapes);
        for (Int i = 0; i < NUM_NODES; i++) probs[j] += sums(j, i);
        total += probs[j];
        defect = std::max(defect, std::abs(edges[j] - 1.0));
    }
    return std::max(defect, std::abs(total - 1.0));
}

}  // namespace

void infinite_into(InFloats beta, Floats out) {
    if (!are_concentrations(beta)) return out.fill(NOT_A_NUMBER);
    Frame frame;
    Int num_classes = beta.size;
    double top = 0.0, rivals = 0.0;
    for (double each : beta) top = std::max(top, each);
    for (double each : beta) rivals += each / top;
    if (top * rivals < 1e-14) {  // the limit of small beta: pi is a corner, k with probability beta_k / sum
        for (Int j = 0; j < num_classes; j++) out[j] = beta[j] / top / rivals;
        return;
    }
    FloatGrid rows = frame.grid(5, num_classes);
    Classes classes{rows[0], rows[1], rows[2], rows[3], rows[4]};
    Ints active = frame.ints(num_classes);
    describe(beta, top, classes);
    double end = upper_offset(std::min((LOG_TAIL + std::log(static_cast<double>(num_classes))) / top, 1e300));
    // Factorised densities have rounding errors of x * 1e-16 each, so many classes need the other form earlier.
    bool direct = top * std::exp(end) < (num_classes <= 64 ? 400.0 : 100.0);
    double start = first_offset(classes, top, direct);
    Int size = keep_contenders(classes, start, active);
    out.fill(0.0);
    if (size == 1) {
        out[active[0]] = 1.0;
        return;
    }
    Int panels = std::max(3 + static_cast<Int>(0.5 * std::log2(rivals)), static_cast<Int>(std::ceil((end - start) / 2.9)));
    Floats probs = frame.floats(size);
    for (int attempt = 0; attempt < 5; attempt++) {
        double defect = integrate(classes.first(size), top, start, end, panels, direct, probs);
        if (defect < CLOSURE + 1e-14 * num_classes) break;
        panels *= 2;
    }
    double total = 0.0;
    for (double& each : probs) {
        each = std::max(0.0, each);
        total += each;
    }
    for (Int j = 0; j < size; j++) out[active[j]] = probs[j] / total;
}

}  // namespace quorate
