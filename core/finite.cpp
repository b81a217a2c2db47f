// FinExp: the exact probability of each class to win the pool (paper eq:post_fin_pop_dist).
//
// R votes are missing; their counts X are Dirichlet-multinomial with concentration beta = alpha + votes. A class k wins
// with the final count m if votes_k + X_k = m and no other class has more; t classes tied at m share the verdict:
//
//   P(k wins) = sum_m P(votes_k + X_k = m, all others <= m, ties shared)
//
// `levels` m at which three or more classes may be tied are added by polynomials (add_level), levels at which only two
// can be by pairs of classes (add_pair_levels), levels that only one class can reach by the tail of its count.
#include "finite.hpp"
#include "posterior.hpp"

namespace quorate {
namespace {

// Are levels paired..alone-1 cheaper from pairs of classes than from polynomials? The costs were measured.
bool pairs_are_cheaper(Int paired, Int alone, InInts votes, Int remaining) {
    Int num = votes.size, both = num > 1 ? votes[0] + votes[1] : votes[0], by_pairs = 0, by_levels = 0;
    for (Int level = paired; level < alone; level++) {
        Int left = remaining - 2 * level + both;
        by_pairs += 2 * left + 5;
        by_levels += num * (30 + floor_div((remaining - level + votes[0]) * (level - votes[0] + 4), 4));
    }
    by_pairs += 10 + 4 * std::max<Int>(0, remaining - 2 * paired + both);
    return num * (num - 1) / 2 * by_pairs < by_levels;
}

// The classes that can still win, in descending order of votes -> `classes`; returns how many. All others are merged:
// others_beta = sum of their beta.
Int contenders_into(InFloats alpha, InInts votes, Int remaining, double factor, Ints classes, double& others_beta) {
    Int num = 0, top = votes.max();
    others_beta = 0.0;
    for (Int k = 0; k < votes.size; k++) {
        if (votes[k] + remaining < top) {
            others_beta += factor * alpha[k] + votes[k];
            continue;
        }
        Int place = num;
        while (place > 0 && votes[classes[place - 1]] < votes[k]) {
            classes[place] = classes[place - 1];
            place--;
        }
        classes[place] = k;
        num++;
    }
    return num;
}

// Bounds of the winning count m from each class's own distribution, for m = top, top + 1, ...:
// P(max <= m) <= under (counts are negatively associated), P(max >= m) <= over; and tails(i, a) = P(X_i >= a).
void bound_levels(Contest& contest, InFloats rest, Floats scratch, FloatGrid tails, Floats under, Floats over) {
    Int remaining = contest.remaining, top = contest.votes[0];
    for (Int i = 0; i < contest.votes.size; i++) {
        Int behind = top - contest.votes[i];
        Floats own = contest.weights[i], tail = tails[i];
        contest.shifts[i] = weights_into(contest.beta[i], contest.steps, own.data, remaining);
        Int shift = weights_into(rest[i], contest.steps, scratch.data, remaining) + contest.shifts[i] - contest.total_shift;
        double scale = std::ldexp(1.0 / contest.total, static_cast<int>(shift)), running = 0.0;
        for (Int a = 0; a <= remaining; a++) {
            tail[a] = own[a] * scale * scratch[remaining - a];
            running += tail[a];
            if (a >= behind) under[a - behind] *= running;
        }
        running = 0.0;
        tail[remaining + 1] = 0.0;
        for (Int a = remaining; a >= 0; a--) {
            running += tail[a];
            tail[a] = running;
            if (a >= behind) over[a - behind] += running;
        }
    }
}

// out[class i] = win[i] / sum(win); returns the sum, compensated: at K = 1000 a plain sum is off by 1e-14.
double normalise(Floats win, InInts classes, Floats out) {
    double mass = 0.0, lost = 0.0;
    for (double& each : win) {
        each = std::max(each, 0.0);  // differences of tails may be below 0 by round-off
        double grown = mass + (each - lost);
        lost = (grown - mass) - (each - lost);
        mass = grown;
    }
    out.fill(0.0);
    for (Int i = 0; i < win.size; i++) out[classes[i]] = win[i] / mass;
    return mass;
}

}  // namespace

double finite_into(InFloats alpha, InInts all_votes, Int pool_size, Floats out) {
    if (is_settled(all_votes, pool_size)) {
        plurality_share_into(all_votes, out);
        return 1.0;
    }
    if (!are_concentrations(alpha)) {
        out.fill(NOT_A_NUMBER);
        return NOT_A_NUMBER;
    }
    Frame frame;
    Int remaining = pool_size - all_votes.sum(), top = all_votes.max();

    // Beyond these sizes the answer no longer depends on alpha (one vote decides everything, or votes do not matter).
    double largest = alpha.max(), factor = std::min(std::max(largest, 1e-100), 1e100) / largest, others_beta;
    Ints classes = frame.ints(all_votes.size);
    Int num = contenders_into(alpha, all_votes, remaining, factor, classes, others_beta);
    Ints votes = frame.ints(num), shifts = frame.ints(num);
    FloatGrid floats = frame.grid(6, num);
    Floats beta = floats[0], rest = floats[1], win = floats[2], reached = floats[3], nodes = floats[4], shares = floats[5];
    double total_beta = others_beta, running = 0.0;
    for (Int i = 0; i < num; i++) {
        votes[i] = all_votes[classes[i]];
        beta[i] = factor * alpha[classes[i]] + votes[i];
        rest[i] = total_beta;  // concentration of all other classes, summed without cancellation
        total_beta += beta[i];
    }
    for (Int i = num - 1; i >= 0; i--) {
        rest[i] += running;
        running += beta[i];
    }

    // One tilt for all classes, so that the mean of the missing votes is R and no weight is far from 1.
    Floats steps = frame.floats(remaining + 1), scratch = frame.floats(remaining + 1);
    double tilt = remaining / (remaining + total_beta);
    for (Int x = 0; x <= remaining; x++) steps[x] = tilt / (x + 1);
    Int total_shift = weights_into(total_beta, steps, scratch.data, remaining);
    FloatGrid weights = frame.zero_grid(num + 1, remaining + 1 + PAD);
    double* work = frame.floats((num + 2) * (remaining + 1 + 2 * PAD)).data;
    Contest contest{beta, others_beta, votes, remaining, weights, shifts, scratch[remaining], total_shift, steps, work};

    FloatGrid tails = frame.grid(num, remaining + 2);
    Floats under = frame.floats(remaining + 1), over = frame.zeros(remaining + 1);
    under.fill(1.0);
    bound_levels(contest, rest, scratch, tails, under, over);
    Int lowest = top, highest = top + remaining;
    while (lowest < highest && under[lowest - top] < NEGLIGIBLE) lowest++;
    while (highest > lowest && over[highest - top] < NEGLIGIBLE) highest--;

    Int alone = lowest, paired = lowest;  // from these levels on at most one class, or two, can reach a level together
    while (alone <= highest && most_tied(alone, votes, remaining) > 1) alone++;
    while (paired < alone && most_tied(paired, votes, remaining) > 2) paired++;
    if (!pairs_are_cheaper(paired, alone, votes, remaining)) paired = alone;
    for (Int i = 0; i < num; i++) win[i] = reached[i] = tails(i, std::min(paired - votes[i], remaining + 1));
    if (paired < alone) add_pair_levels(contest, paired, alone - 1, reached, win);
    if (lowest < paired) {
        IntGrid bounds = frame.int_grid(3, num);
        Int others_shift = weights_into(others_beta, steps, weights[num].data, remaining);
        for (Int level = lowest; level < paired; level++) {
            Int tied = most_tied(level, votes, remaining);
            Int count = tie_nodes_into(level, tied, over[level - top], nodes.data, shares.data);
            add_level(contest, level, others_shift, count, nodes, shares, bounds, win);
        }
    }
    return normalise(win, classes, out);
}

// q = P(the class gets so many of the missing votes that no other class can have as many): the upper tail of a
// beta-binomial from x = floor((rival + R - votes_k) / 2) + 1 on. 0, still a bound, if its first term has lost digits.
double wins_alone(Int chosen, InFloats alpha, InInts votes, Int num_remaining) {
    Int rival = 0;
    double others = 0.0;
    for (Int k = 0; k < votes.size; k++) {
        if (k != chosen) {
            rival = std::max(rival, votes[k]);
            others += alpha[k] + votes[k];
        }
    }
    Int needed = std::max<Int>(floor_div(rival + num_remaining - votes[chosen], 2) + 1, 0);
    if (needed > num_remaining) return 0.0;
    double own = alpha[chosen] + votes[chosen], total = own + others;
    double probability = 1.0;  // of exactly `needed` votes
    for (Int x = 0; x < needed; x++) probability *= (own + x) / (total + x) * (num_remaining - x) / (x + 1.0);
    for (Int x = 0; x < num_remaining - needed; x++) probability *= (others + x) / (total + needed + x);
    if (probability < 1e-300) return 0.0;
    double wins = probability;
    for (Int x = needed; x < num_remaining; x++) {
        Int left = num_remaining - x;
        probability *= (own + x) / (x + 1.0) * left / (others + (left - 1));
        wins += probability;
    }
    return wins;
}

}  // namespace quorate
