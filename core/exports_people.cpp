// What Python calls of crowds and panels, as quorate/core.py declares it; conventions: exports.hpp.
// A crowd's state is a[0] .. a[7], items are the eight arrays after it; a panel's state is a[0] .. a[5].
#include "crowd.hpp"
#include "exports.hpp"
#include "panel.hpp"

using namespace quorate;

namespace {

CrowdState crowd(const Array* a) {
    return {a[0].cube<double>(), a[1].grid<double>(), a[2].view<double>(), a[3].cube<double>(),
            a[4].grid<double>(), a[5].view<double>(), a[6].view<double>(), a[7].view<double>()};
}

CrowdItems items_of(const Array* a) {
    return {a[8].in_ints(), a[9].in_ints(), a[10].in_ints(), a[11].in_grid(),
            a[12].grid<double>(), a[13].view<double>(), a[14].cube<double>(), a[15].grid<double>()};
}

bool are_below(InInts numbers, Int end) {
    return std::all_of(numbers.begin(), numbers.end(), [end](Int each) { return each >= 0 && each < end; });
}

// Do people and labels exist, and do items follow one another within the votes?
bool fits(const CrowdState& state, const CrowdItems& items) {
    for (Int i = 0; i + 1 < items.start.size; i++) {
        if (items.start[i] < 0 || items.start[i + 1] < items.start[i]) return false;
    }
    Int n = items.belief.rows;
    return items.start.size == n + 1 && items.start[n] <= items.person.size &&
           are_below(items.person, state.skill.size) && are_below(items.label, state.num_classes());
}

PanelState panel(const Array* a) {  // `exchangeable` is theta, phi, tau, bias
    Int M = a[2].shape[0], K = a[2].shape[1];
    InFloats exchangeable = a[4].in(), evidence = a[5].in();
    return {a[0].in_cube(), a[1].in_grid(), a[2].in_grid(), a[3].in(), exchangeable[0], exchangeable[1],
            {exchangeable.data + 2, M, K}, exchangeable.from(2 + M * K), evidence[0], evidence[1]};
}

// Do the shapes belong together, and do the classes of the votes exist?
bool fits(const Array* a, InInts votes) {
    Int M = a[2].shape[0], K = a[2].shape[1];
    return K > 0 && a[0].shape[1] == DIFFICULTIES * K && a[4].shape[0] == 2 + M * K + K &&
           std::all_of(votes.begin(), votes.end(), [K](Int y) { return y < K; });
}

// Do the first `asked` votes of each item exist?
bool fits(const CrowdState& state, const CrowdItems& items, InInts asked) {
    if (state.num_classes() == 0 || !fits(state, items) || asked.size > items.belief.rows) return false;
    for (Int i = 0; i < asked.size; i++) {
        if (asked[i] < 0 || asked[i] > items.start[i + 1] - items.start[i]) return false;
    }
    return true;
}

// Changes the state, or the items, by each item with its first `asked` votes: a[16].
int change(const Array* a, void (*by_item)(const CrowdState&, const CrowdItem&)) {
    CrowdState state = crowd(a);
    CrowdItems items = items_of(a);
    InInts asked = a[16].in_ints();
    if (!fits(state, items, asked)) return REFUSED;
    Pool pool;
    for (Int i = 0; i < asked.size; i++) by_item(state, items.item(i, asked[i]));
    return DONE;
}

}  // namespace

EXPORT int crowd_prior(const Array* a, const Int*, const double*, double*) {
    CrowdState state = crowd(a);
    if (state.num_classes() == 0) return REFUSED;
    Pool pool;
    prior_into(state, a[8].in(), a[9].view<double>());
    return DONE;
}

EXPORT int crowd_count_votes(const Array* a, const Int*, const double*, double*) {
    CrowdState state = crowd(a);
    InInts person = a[9].in_ints(), label = a[10].in_ints();
    if (!are_below(person, state.skill.size) || !are_below(label, state.num_classes())) return REFUSED;
    if (state.num_classes() == 0) return REFUSED;
    Pool pool;
    count_votes(state, a[8].in(), person, label, a[11].view<double>());
    return DONE;
}

EXPORT int crowd_gains(const Array* a, const Int*, const double*, double*) {
    CrowdState state = crowd(a);
    InInts people = a[8].in_ints();
    if (state.num_classes() == 0 || !are_below(people, state.skill.size)) return REFUSED;
    Pool pool;
    gains_into(state, people, a[9].in(), a[10].in(), a[11].grid<double>());
    return DONE;
}

// rows (K, K) q_e of person e = n[0]; weights (2, 4) of the types, to weigh votes and to judge people.
EXPORT int crowd_person(const Array* a, const Int* n, const double*, double*) {
    CrowdState state = crowd(a);
    FloatGrid rows = a[8].grid<double>(), weights = a[9].grid<double>();
    Int e = n[0], K = state.num_classes();
    if (K == 0 || e < 0 || e >= state.skill.size) return REFUSED;
    Pool pool;
    Frame frame;
    Floats column = frame.floats(K);
    for (Int y = 0; y < K; y++) {
        careful_into(state, e, y, column);
        for (Int z = 0; z < K; z++) rows(z, y) = column[z];
    }
    for (Int way : {FOR_WEIGHTS, FOR_JUDGEMENT}) type_weights_into(state.evidence(e, way), weights[way].data);
    return DONE;
}

EXPORT int crowd_add(const Array* a, const Int*, const double*, double*) { return change(a, add_item); }
EXPORT int crowd_take_back(const Array* a, const Int*, const double*, double*) { return change(a, take_back); }
EXPORT int crowd_revise(const Array* a, const Int*, const double*, double*) { return change(a, revise); }

EXPORT int crowd_judge(const Array* a, const Int*, const double*, double*) { return change(a, judge); }

// What is believed of each item if it had not been learned from, and all others had: out (n, K) = a[17].
EXPORT int crowd_left_out(const Array* a, const Int*, const double*, double*) {
    CrowdState state = crowd(a);
    CrowdItems items = items_of(a);
    InInts asked = a[16].in_ints();
    if (!fits(state, items, asked)) return REFUSED;
    Pool pool;
    for (Int i = 0; i < asked.size; i++) {
        CrowdItem item = items.item(i, asked[i]), copy = item;
        copy.belief = a[17].grid<double>()[i];
        take_back(state, item);
        judge(state, copy);
        add_item(state, item);
    }
    return DONE;
}

EXPORT int crowd_refit_prior(const Array* a, const Int*, const double*, double*) {
    CrowdState state = crowd(a);
    if (state.num_classes() == 0) return REFUSED;
    Pool pool;
    refit_prior(state, a[8].in_grid(), a[9].in_grid());
    return DONE;
}

// n: refit every, window; x: doubt, warm-up.
EXPORT int crowd_stream(const Array* a, const Int* n, const double* x, double*) {
    CrowdState state = crowd(a);
    CrowdItems items = items_of(a);
    InFloatGrid draws = a[16].in_grid();
    bool is_known = state.num_classes() > 0 && fits(state, items) && n[0] > 0 && n[1] > 0;
    if (!is_known || !are_draws(draws.flat())) return REFUSED;
    Pool pool;
    run_crowd(state, items, {x[0], x[1], n[0], n[1]}, draws, a[17].grid<double>(), a[18].view<Int>());
    return DONE;
}

// Of n items with log_f (n, M, K) and votes (n, N): bins (n, K) of pi, P(d, z | f, votes) as latent (n, 3 K), and
// log P(votes | f) of the members' and of the exchangeable model as log_likelihoods (n, 2).
EXPORT int panel_latent(const Array* a, const Int*, const double*, double*) {
    InFloatCube log_f = a[6].in_cube();
    InIntGrid votes = a[7].in_int_grid();
    Int K = log_f.columns;
    if (!fits(a, votes.flat()) || a[9].shape[1] != DIFFICULTIES * K) return REFUSED;
    PanelState state = panel(a);
    Pool pool;
    Frame frame;
    Floats beta = frame.floats(K);
    Ints seen = frame.ints(K);
    FloatGrid log_likelihoods = a[10].grid<double>();
    for (Int i = 0; i < votes.rows; i++) {
        log_likelihoods(i, 0) = latent_into(state, log_f[i], votes[i], a[8].grid<Int>()[i], a[9].grid<double>()[i]);
        log_likelihoods(i, 1) = polya_into(state, log_f[i], votes[i], beta, seen);
    }
    return DONE;
}

// x: the price of one unit of cost; plan (3,): the member to ask next, or -1, gain and cost of the plan.
EXPORT int panel_advise(const Array* a, const Int*, const double* x, double*) {
    InInts votes = a[7].in_ints();
    if (!fits(a, votes) || !is_small(votes, a[2].shape[1])) return REFUSED;
    PanelState state = panel(a);
    Pool pool;
    PanelAdvice found = advise(state, a[6].in_grid(), votes, a[8].view<const std::uint8_t>(), a[9].in(), x[0],
                               a[10].view<double>(), a[11].view<double>());
    double* plan = a[12].view<double>().data;
    plan[0] = static_cast<double>(found.member), plan[1] = found.gain, plan[2] = found.cost;
    return DONE;
}
