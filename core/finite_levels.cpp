// Takes a level m, a possible winning count; adds to each class the probability that it wins the pool with m votes.
#include "finite.hpp"
#include "tables.hpp"

namespace quorate {

// out[x] = Gamma(c + x) / (Gamma(c) x!) tilt^x / 2^shift for x = 0..last; returns shift. steps[x] = tilt / (x + 1).
Int weights_into(double concentration, InFloats steps, double* out, Int last) {
    constexpr double VANISHED = 1e-290;  // arithmetic on denormal numbers is slow
    double value = 1.0;
    Int shift = 0;
    out[0] = 1.0;
    for (Int x = 0; x < last; x++) {
        value *= (concentration + x) * steps[x];
        if (value > LARGE) {
            for (Int earlier = 0; earlier <= x; earlier++) out[earlier] *= SMALL;
            value *= SMALL;
            shift += SHIFT;
        } else if (value < VANISHED) {
            value = 0.0;
        }
        out[x + 1] = value;
    }
    return shift;
}

// How many classes can reach `level` together.
Int most_tied(Int level, InInts votes, Int remaining) {
    Int tied = 0;
    for (Int count : votes) {
        remaining -= level - count;
        if (remaining < 0) break;
        tied++;
    }
    return tied;
}

// Gauss-Legendre rule on [0, 1] with `count` nodes: exact for polynomials of degree 2 count - 1.
void gauss_into(Int count, double* nodes, double* shares) {
    if (count <= tables::MOST_NODES) {
        Int first = count * (count - 1) / 2;
        std::copy_n(tables::GAUSS_NODES + first, count, nodes);
        std::copy_n(tables::GAUSS_SHARES + first, count, shares);
        return;
    }
    for (Int i = 0; i < (count + 1) / 2; i++) {
        double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5)), slope = 1.0;
        for (int step = 0; step < 6; step++) {
            double here = x, before = 1.0;
            for (Int degree = 2; degree <= count; degree++) {
                double next = ((2 * degree - 1) * x * here - (degree - 1) * before) / degree;
                before = here;
                here = next;
            }
            slope = count * (x * here - before) / (x * x - 1.0);
            x -= here / slope;
        }
        double share = 1.0 / ((1.0 - x * x) * slope * slope);
        nodes[i] = (1.0 - x) / 2, nodes[count - 1 - i] = (1.0 + x) / 2;
        shares[i] = share, shares[count - 1 - i] = share;
    }
}

// Gauss nodes and weights that are exact for a tie of up to `tied` classes at `level`; returns how many.
Int tie_nodes_into(Int level, Int tied, double expected, double* nodes, double* shares) {
    if (level == 1) {
        nodes[0] = 1.0, shares[0] = 1.0 / tied;
        return 1;
    }
    Int exact = (tied + 1) / 2, size = 1, count = 0;
    double bound = expected;
    while (count < exact && (count == 0 || bound >= NEGLIGIBLE)) {
        bound *= expected * expected / ((size + 1) * (size + 2));
        size += 2;
        count++;
    }
    gauss_into(count, nodes, shares);
    return count;
}

namespace {

// Term x of a class's factor A(z) + u T(z).
inline double term(const double* weights, Int x, Int needed, double node) {
    return x < needed ? weights[x] : x == needed ? node * weights[x] : 0.0;
}

// Zeros before degree `low` and after degree `high`, as many as loops over four terms may read.
inline void clear_around(double* polynomial, Int low, Int high) {
    for (Int d = 1; d < 4; d++) polynomial[low - d] = polynomial[high + d] = 0.0;
}

// target = source * (A + u T) at degrees first..last; source has degrees low..high.
void convolve(const double* __restrict source, Int low, Int high, const double* __restrict weights, Int needed,
              double node, double* __restrict target, Int first, Int last) {
    clear_around(target, first, last);
    Int begin = std::max<Int>(0, (first - high) / 4 * 4);
    for (Int x = begin; x <= std::min(needed, last); x += 4) {
        Int start = std::max(first, low + x), stop = std::min(last, high + x + 3) + 1;
        double term0 = term(weights, x, needed, node), term1 = term(weights, x + 1, needed, node);
        double term2 = term(weights, x + 2, needed, node), term3 = term(weights, x + 3, needed, node);
        const double* from = source - x;
        if (x > begin) {
            for (Int d = start; d < stop; d++) {
                target[d] += (term0 * from[d] + term1 * from[d - 1]) + (term2 * from[d - 2] + term3 * from[d - 3]);
            }
            continue;
        }
        for (Int d = start; d < stop; d++) {
            target[d] = (term0 * from[d] + term1 * from[d - 1]) + (term2 * from[d - 2] + term3 * from[d - 3]);
        }
        for (Int d = first; d < start; d++) target[d] = 0.0;
        for (Int d = std::max(first, stop); d <= last; d++) target[d] = 0.0;
    }
}

// [z^degree] left(z) right(z), from the terms first..last of left; four partial sums, which run in parallel.
double inner_product(const double* left, const double* right, Int degree, Int first, Int last) {
    double sum0 = 0.0, sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
    Int d = first;
    for (; d + 3 <= last; d += 4) {
        sum0 += left[d] * right[degree - d];
        sum1 += left[d + 1] * right[degree - d - 1];
        sum2 += left[d + 2] * right[degree - d - 2];
        sum3 += left[d + 3] * right[degree - d - 3];
    }
    for (; d <= last; d++) sum0 += left[d] * right[degree - d];
    return (sum0 + sum1) + (sum2 + sum3);
}

// Divides by 2^SHIFT if any term exceeds it; returns the exponent removed.
Int rescale(double* polynomial, Int low, Int high) {
    double largest = 0.0;
    for (Int d = low; d <= high; d++) largest = std::max(largest, polynomial[d]);
    if (largest <= LARGE) return 0;
    for (Int d = low; d <= high; d++) polynomial[d] *= SMALL;
    return SHIFT;
}

}  // namespace

// win[k] += int_0^1 [z^R] T_k(z) prod_{j != k} (A_j(z) + u T_j(z)) du / [z^R] prod_j (1 - z)^-beta_j.
//
// Products over the classes before k are stored for every k, those over the classes after k are built in a backward
// pass; each only at the degrees that can still contribute.
void add_level(const Contest& contest, Int level, Int others_shift, Int count, InFloats nodes, InFloats shares,
               IntGrid bounds, Floats win) {
    auto [votes, remaining, weights, shifts] = std::tie(contest.votes, contest.remaining, contest.weights, contest.shifts);
    double* work = contest.work;
    Int num = votes.size, pitch = remaining + 1 + 2 * PAD;
    bool large = remaining > UNSHIFTED_REMAINING;
    Int capacity = 0, reach = 0;
    for (Int i = 0; i < num; i++) {
        capacity += level - votes[i];
        reach += level - votes[i] <= remaining;
    }
    Int least = level - votes[0];
    const double* others = weights[num].data;
    bool spread = others[1] > 0.0;
    if (capacity < remaining && !spread) return;
    bounds(0, 0) = 0, bounds(1, 0) = 0, bounds(2, 0) = others_shift;
    if (spread) bounds(0, 0) = std::max<Int>(0, remaining - capacity), bounds(1, 0) = remaining - least;
    for (Int d = bounds(0, 0); d <= bounds(1, 0); d++) work[PAD + d] = others[d];
    clear_around(work + PAD, bounds(0, 0), bounds(1, 0));
    for (Int n = 0; n < count; n++) {
        double node = nodes[n], scale = shares[n] / contest.total;
        Int after = capacity, low = bounds(0, 0), high = bounds(1, 0);
        double* prefix = work + PAD;
        for (Int i = 0; i < reach - 1; i++) {
            Int needed = level - votes[i];
            after -= needed;
            Int new_low = std::max<Int>(0, remaining - after);
            Int new_high = std::min(high + needed, remaining - (level - votes[i + 1]));
            convolve(prefix, low, high, weights[i].data, needed, node, prefix + pitch, new_low, new_high);
            prefix += pitch, low = new_low, high = new_high;
            bounds(0, i + 1) = low, bounds(1, i + 1) = high, bounds(2, i + 1) = bounds(2, i) + shifts[i];
            if (large) bounds(2, i + 1) += rescale(prefix, low, high);
        }
        double *suffix = work + PAD + num * pitch, *spare = work + PAD + (num + 1) * pitch;
        low = high = 0;
        Int suffix_shift = 0, before = capacity;
        suffix[0] = 1.0;
        clear_around(suffix, 0, 0);
        for (Int i = num - 1; i >= 0; i--) {
            Int needed = level - votes[i];
            if (i < reach) {
                Int degree = remaining - needed;
                Int first = std::max(bounds(0, i), degree - high), last = std::min(bounds(1, i), degree - low);
                double inner = inner_product(work + PAD + i * pitch, suffix, degree, first, last);
                double value = scale * inner * weights(i, needed);
                Int exponent = bounds(2, i) + suffix_shift + shifts[i] - contest.total_shift;
                win[i] += exponent == 0 ? value : std::ldexp(value, static_cast<int>(exponent));
            }
            if (i > 0) {
                before -= needed;
                Int new_low = spread ? 0 : std::max<Int>(0, remaining - before);
                Int new_high = std::min(high + needed, remaining - least);
                convolve(suffix, low, high, weights[i].data, needed, node, spare, new_low, new_high);
                std::swap(suffix, spare);
                low = new_low, high = new_high;
                suffix_shift += shifts[i];
                if (large) suffix_shift += rescale(suffix, low, high);
            }
        }
    }
}

namespace {

// Sums of beta over j, j + 1, ... to work[j] for j > i; returns the sum over the others and all before i.
double sums_around(Int i, InFloats beta, double others_beta, double* work) {
    work[beta.size] = 0.0;
    for (Int j = beta.size - 1; j > i; j--) work[j] = work[j + 1] + beta[j];
    double before = others_beta;
    for (Int j = 0; j < i; j++) before += beta[j];
    return before;
}

}  // namespace

// For levels m in first..last: win[k] -= sum_m sum_{j != k} P(H_k = m, H_j > m) + P(H_k = m, H_j = m) / 2.
void add_pair_levels(const Contest& contest, Int first, Int last, InFloats reached, Floats win) {
    auto [beta, votes, remaining, weights, shifts] =
        std::tie(contest.beta, contest.votes, contest.remaining, contest.weights, contest.shifts);
    Int num = beta.size;
    double* rest = contest.work + num + 1;  // the weights of all classes but i and j
    for (Int i = 0; i < num; i++) {
        double before = sums_around(i, beta, contest.others_beta, contest.work);
        for (Int j = i + 1; j < num; j++) {
            double rest_beta = before + contest.work[j + 1];
            before += beta[j];
            Int most_left = remaining - (2 * first - votes[i] - votes[j]);
            if (most_left < 0) break;
            if (reached[i] * reached[j] < 1e-22) continue;
            Int shift = weights_into(rest_beta, contest.steps, rest, most_left) + shifts[i] + shifts[j] - contest.total_shift;
            double loss_i = 0.0, loss_j = 0.0;
            for (Int level = first; level <= last; level++) {
                const double *at_i = weights[i].data + level - votes[i], *at_j = weights[j].data + level - votes[j];
                Int left = remaining - (2 * level - votes[i] - votes[j]);
                if (left < 0) break;
                double above_i = 0.0, above_j = 0.0;
                for (Int extra = 1; extra <= left; extra++) {
                    above_i += at_i[extra] * rest[left - extra];
                    above_j += at_j[extra] * rest[left - extra];
                }
                double even = 0.5 * at_i[0] * at_j[0] * rest[left];
                loss_i += (even + at_i[0] * above_j) / contest.total;
                loss_j += (even + at_j[0] * above_i) / contest.total;
            }
            win[i] -= std::ldexp(loss_i, static_cast<int>(shift));
            win[j] -= std::ldexp(loss_j, static_cast<int>(shift));
        }
    }
}

}  // namespace quorate
