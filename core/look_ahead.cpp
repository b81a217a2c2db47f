// The expected gain of the next votes: what the best plan gains for each vote it asks, if the belief is right.
#include "decision.hpp"

namespace quorate {
namespace {

constexpr Int MOST_GROUPS = 6, FEWEST_GROUPS = 3, MOST_STATES = 1024;
constexpr double SURELY = 1.0 + 1e-9, NOTHING = 1e-15;
constexpr double INF = std::numeric_limits<double>::infinity();

struct alignas(64) State {  // P of up to six classes, the value of the plan less the price of its votes, these votes
    double p[MOST_GROUPS];
    double value, votes;
};

Int num_states(Int num_groups, Int num_votes) {
    Int total = 1;
    for (Int group = 1; group <= num_groups; group++) total = total * (num_votes + group) / group;
    return total;
}

struct Size {
    Int groups, horizon;
};

Size look_ahead_size(Int num_classes, Int num_remaining) {
    Int groups = std::min(num_classes, MOST_GROUPS), horizon = 1, most = std::min(num_remaining, MOST_STATES);
    while (groups > FEWEST_GROUPS && num_states(groups, most) > MOST_STATES) groups--;
    while (horizon < most && num_states(groups, horizon + 1) <= MOST_STATES) horizon++;
    return {groups, horizon};
}

// (C, H + 2) binom(s + i - 1, i): how many counts of i groups have a sum below s.
void state_ranks(IntGrid ranks) {
    ranks.flat().fill(0);
    for (Int s = 1; s < ranks.columns; s++) {
        ranks(0, s) = 1;
        for (Int i = 1; i < ranks.rows; i++) ranks(i, s) = ranks(i, s - 1) + ranks(i - 1, s);
    }
}

// Moves on to the partial sums of the next state of the level; false after the last one.
bool advance(Ints sums) {
    for (Int i = 0; i < sums.size - 1; i++) {
        if (sums[i] < sums[i + 1]) {
            sums[i]++;
            return true;
        }
        sums[i] = 0;
    }
    return false;
}

// The expected cost of the cheapest answer among the chosen classes; winners (m,), costs (m + 1, m).
double least_cost(InFloats winners, InFloatGrid costs) {
    double least = INF, others = 1.0;
    for (double each : winners) others -= each;
    for (Int answer = 0; answer < winners.size; answer++) {
        double cost = others * costs(winners.size, answer);
        for (Int k = 0; k < winners.size; k++) cost += winners[k] * costs(k, answer);
        least = std::min(least, cost);
    }
    return least;
}

// The value of the best answer: its probability, or minus its expected cost.
double best_answer(const State& state, Int num_classes, Int others, InFloatGrid costs) {
    if (costs.size() > 0) return -least_cost({state.p, num_classes}, costs);
    double best = 0.0, rest = 1.0;
    for (Int k = 0; k < num_classes; k++) {
        best = std::max(best, state.p[k]);
        rest -= state.p[k];
    }
    return others > 0 ? std::max(best, rest / others) : best;
}

// Turns the states of the next level into those of this one: the mean over the next vote. In place.
void step_back(Int level, InFloats beta, double total, InIntGrid ranks, State* states) {
    Frame frame;
    Int groups = beta.size;
    Ints sums = frame.int_zeros(groups);
    sums[groups - 1] = level;
    double scale = 1.0 / (total + level);
    for (Int rank = 0; rank < ranks(groups - 1, level + 1); rank++) {
        State mean{};
        Int place = rank;
        for (Int c = groups - 1; c >= 0; c--) {
            if (c < groups - 1) place += ranks(c, sums[c] + 1);
            double share = (beta[c] + (sums[c] - (c > 0 ? sums[c - 1] : 0))) * scale;
            for (Int k = 0; k < MOST_GROUPS; k++) mean.p[k] += share * states[place].p[k];
            mean.value += share * states[place].value;
            mean.votes += share * states[place].votes;
        }
        states[rank] = mean;
        advance(sums);
    }
}

void stop_or_go_on(Int level, double price, Int groups, Int num_classes, InFloatGrid costs, State* states) {
    Frame frame;
    Ints sums = frame.int_zeros(groups);
    sums[groups - 1] = level;
    for (Int rank = 0;; rank++) {
        State& state = states[rank];
        double best = best_answer(state, num_classes, level - sums[num_classes - 1], costs);
        double going_on = state.value - price;
        state.votes = going_on > best ? state.votes + 1.0 : 0.0;
        state.value = std::max(going_on, best);
        if (!advance(sums)) break;
    }
}

struct Plan {
    double surplus, votes;  // the gain of the best plan, less what its votes cost; the votes it asks on average
};

Plan best_plan(Int horizon, Int num_unseen, InFloats beta, Int num_classes, InIntGrid ranks, InFloatGrid costs,
               double price, State* states) {
    double total = beta.sum();
    Int groups = beta.size;
    double by_all = (costs.size() == 0 ? 1.0 : 0.0) - price * num_unseen;
    for (Int rank = 0; num_unseen > 0 && rank < ranks(groups - 1, horizon + 1); rank++) {
        if (by_all > states[rank].value) states[rank].value = by_all, states[rank].votes = num_unseen;
    }
    for (Int level = horizon - 1; level > 0; level--) {
        step_back(level, beta, total, ranks, states);
        stop_or_go_on(level, price, groups, num_classes, costs, states);
    }
    step_back(0, beta, total, ranks, states);
    double now = best_answer(states[0], num_classes, 0, costs);
    return {states[0].value - price - now, states[0].votes + 1.0};
}

// The winner's share and its value for every state after the last vote. At most one class of a group can win.
void last_into(Int horizon, InInts counts, Int num_classes, InFloatGrid costs, Int num_rows, State* states) {
    Frame frame;
    Int groups = counts.size;
    Ints sums = frame.int_zeros(groups), final_counts = frame.ints(num_classes);
    sums[groups - 1] = horizon;
    for (Int rank = 0; rank < num_rows; rank++) {
        Int top = 0, tied = 0, others = horizon - sums[num_classes - 1], before = 0;
        if (groups > num_classes) top = std::max(counts[num_classes], std::min<Int>(others, 1)), tied = 1;
        for (Int k = 0; k < num_classes; k++) {
            final_counts[k] = counts[k] + sums[k] - before;
            before = sums[k];
            if (final_counts[k] > top) top = final_counts[k], tied = 0;
            if (final_counts[k] == top) tied++;
        }
        double share = 1.0 / tied;
        State& state = states[rank];
        state = State{};
        for (Int k = 0; k < num_classes; k++) state.p[k] = final_counts[k] == top ? share : 0.0;
        state.value = best_answer(state, num_classes, others, costs);
        advance(sums);
    }
}

// Approximates the winner in every state with `unseen` votes remaining: P_k ~ prod_j P(k beats j).
void likely_into(Int horizon, Int unseen, InInts counts, InFloats beta, Int num_classes, Int num_others,
                 InFloatGrid costs, Int num_rows, State* states) {
    Frame frame;
    Int groups = counts.size;
    double total = beta.sum();
    Ints sums = frame.int_zeros(groups);
    Floats final_counts = frame.floats(groups), share = frame.floats(groups);
    FloatGrid behind = frame.zero_grid(groups, groups);  // how far group k is expected behind j, in standard deviations
    sums[groups - 1] = horizon;
    double spread = unseen * (total + horizon + unseen) / (total + horizon + 1.0);
    for (Int rank = 0; rank < num_rows; rank++) {
        Int before = 0;
        for (Int c = 0; c < groups; c++) {
            Int x = sums[c] - before;
            before = sums[c];
            share[c] = (beta[c] + x) / (total + horizon);
            final_counts[c] = counts[c] + x + unseen * share[c];
            if (c >= num_classes) {
                share[c] /= num_others;
                final_counts[c] = std::max(counts[c], std::min<Int>(x, 1)) + unseen * share[c];
            }
        }
        for (Int k = 0; k < groups; k++) {
            for (Int j = 0; j < k; j++) {
                double gap = share[k] - share[j];
                double width = std::sqrt(spread * (share[k] + share[j] - gap * gap)) + 1e-9;
                behind(k, j) = std::min(std::max(1.702 * (final_counts[j] - final_counts[k]) / width, -500.0), 500.0);
                behind(j, k) = -behind(k, j);
            }
        }
        State& state = states[rank];
        state = State{};
        double mass = 0.0;
        for (Int k = 0; k < groups; k++) {
            double weight = k < num_classes ? 1.0 : 1.0 * num_others;
            for (Int j = 0; j < groups; j++) {
                if (j != k) weight /= 1.0 + std::exp(behind(k, j));
            }
            mass += weight;
            if (k < num_classes) state.p[k] = weight;
        }
        for (Int k = 0; k < num_classes; k++) state.p[k] /= mass;
        state.value = best_answer(state, num_classes, horizon - sums[num_classes - 1], costs);
        advance(sums);
    }
}

// The most important classes: the most probable; with costs, the answer and the costliest.
void choose_into(InFloats probs, InFloatGrid error_costs, Ints chosen) {
    Frame frame;
    Floats stakes = frame.copy(probs);
    if (error_costs.size() > 0) {
        Int answer = 0;
        double least = INF;
        for (Int k = 0; k < probs.size; k++) {
            double cost = 0.0;
            for (Int truth = 0; truth < probs.size; truth++) cost += probs[truth] * error_costs(truth, k);
            if (cost < least) answer = k, least = cost;
            stakes[k] = probs[k] * error_costs[k].max();
        }
        stakes[answer] = INF;
    }
    for (Int& place : chosen) {
        place = stakes.argmax();
        stakes[place] = -1.0;
    }
}

// Costs (m + 1, m) of answering a chosen class if a chosen class wins, or another (mean).
void group_costs_into(InFloats probs, InFloatGrid error_costs, InInts chosen, FloatGrid costs) {
    Frame frame;
    Int explicit_classes = chosen.size;
    costs.flat().fill(0.0);
    Floats others = frame.copy(probs);
    for (Int i = 0; i < explicit_classes; i++) {
        others[chosen[i]] = 0.0;
        for (Int j = 0; j < explicit_classes; j++) costs(i, j) = error_costs(chosen[i], chosen[j]);
    }
    double mass = 0.0;
    for (double each : others) mass += each;
    for (Int k = 0; k < probs.size; k++) {
        for (Int j = 0; j < explicit_classes; j++) {
            if (mass > 0.0) costs(explicit_classes, j) += others[k] / mass * error_costs(k, chosen[j]);
        }
    }
}

// `probs` is used only with error costs.
Plan plan_at(double price, InFloats alpha, InInts votes, Int num_remaining, Int horizon, InInts chosen, InFloats probs,
             InFloatGrid error_costs) {
    Frame frame;
    Int explicit_classes = chosen.size, groups = std::min(explicit_classes + 1, votes.size);
    Ints counts = frame.int_zeros(groups);
    Floats beta = frame.zeros(groups);
    for (Int k = 0; k < votes.size; k++) {  // for the group of others the largest count and the sum of beta
        Int place = explicit_classes;
        for (Int i = 0; i < explicit_classes; i++) {
            if (chosen[i] == k) place = i;
        }
        counts[place] = std::max(counts[place], votes[k]);
        beta[place] += alpha[k] + votes[k];
    }
    FloatGrid costs;
    if (error_costs.size() > 0) {
        costs = frame.grid(explicit_classes + 1, explicit_classes);
        group_costs_into(probs, error_costs, chosen, costs);
    }
    IntGrid ranks = frame.int_grid(groups, horizon + 2);
    state_ranks(ranks);
    Int num_rows = ranks(groups - 1, horizon + 1), unseen = num_remaining - horizon;
    auto* states = reinterpret_cast<State*>(frame.floats(num_rows * (sizeof(State) / sizeof(double))).data);
    if (unseen == 0) {
        last_into(horizon, counts, explicit_classes, costs, num_rows, states);
    } else {
        likely_into(horizon, unseen, counts, beta, explicit_classes, votes.size - explicit_classes, costs, num_rows, states);
    }
    return best_plan(horizon, unseen, beta, explicit_classes, ranks, costs, price, states);
}

// The gain per vote of asking everybody, as if no doubt were left then.
double gained_by_all(Int num_remaining, Int horizon, InFloats probs, InFloatGrid error_costs) {
    if (horizon == num_remaining || error_costs.size() > 0) return 0.0;
    return std::max(1.0 - probs.max(), 0.0) / num_remaining;
}

// A lower bound of G over all remaining votes, from the two most probable classes.
double surely_gained(InFloats alpha, InInts votes, Int num_remaining, Int first, Int second) {
    double least = wins_alone(second, alpha, votes, num_remaining);
    if (least > 0.0) least = std::min(least, wins_alone(first, alpha, votes, num_remaining));
    return least / num_remaining;
}

}  // namespace

// G: the most that a plan gains with each of its votes, if the belief is right. Dinkelbach's steps: the best plan at the
// price G has no surplus.
double expected_gain(InFloats alpha, InInts votes, Int num_remaining, InFloats probs, InFloatGrid error_costs) {
    Frame frame;
    auto [groups, horizon] = look_ahead_size(votes.size, num_remaining);
    Ints chosen = frame.ints(groups == votes.size ? groups : groups - 1);
    choose_into(probs, error_costs, chosen);
    double gain = gained_by_all(num_remaining, horizon, probs, error_costs);
    for (int step = 0; step < 30; step++) {
        Plan plan = plan_at(gain, alpha, votes, num_remaining, horizon, chosen, probs, error_costs);
        if (plan.surplus <= NOTHING) break;
        gain += plan.surplus / plan.votes;
    }
    return gain;
}

// `expected_gain` > price, by one plan; most calls are decided by cheaper terms of it.
bool gains_more_than(double price, InFloats alpha, InInts votes, Int num_remaining, InFloats probs,
                     InFloatGrid error_costs) {
    Frame frame;
    auto [groups, horizon] = look_ahead_size(votes.size, num_remaining);
    Ints chosen = frame.ints(groups == votes.size ? groups : groups - 1);
    choose_into(probs, error_costs, chosen);
    if (horizon == num_remaining && chosen.size > 1 && error_costs.size() == 0) {
        if (surely_gained(alpha, votes, num_remaining, chosen[0], chosen[1]) > price * SURELY) return true;
    } else if (gained_by_all(num_remaining, horizon, probs, error_costs) > price) {
        return true;
    }
    return plan_at(price, alpha, votes, num_remaining, horizon, chosen, probs, error_costs).surplus > 0.0;
}

// Does G depend on nothing but which two classes lead, beside alpha and votes?
bool order_decides(Int num_classes, Int num_remaining) {
    auto [groups, horizon] = look_ahead_size(num_classes, num_remaining);
    return groups == FEWEST_GROUPS && num_classes > FEWEST_GROUPS && horizon < num_remaining;
}

// `gains_more_than`, where `order_decides`; `first` and `second` are the two.
bool plan_of_two_gains(double price, InFloats alpha, InInts votes, Int num_remaining, Int first, Int second) {
    Int pair[2] = {first, second};
    Int horizon = look_ahead_size(votes.size, num_remaining).horizon;
    return plan_at(price, alpha, votes, num_remaining, horizon, {pair, 2}, alpha, {}).surplus > 0.0;
}

}  // namespace quorate
