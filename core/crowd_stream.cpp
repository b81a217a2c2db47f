// Recorded votes of a crowd, item by item: ask until the answer is sure enough, learn, revise earlier items.
#include "crowd.hpp"

namespace quorate {

// Item i with its first `num_votes` votes.
CrowdItem CrowdItems::item(Int i, Int num_votes) const {
    Int first = start[i], end = first + num_votes, K = belief.columns;
    return {person.part(first, end), label.part(first, end), log_f[i], belief[i], careful.part(first, end),
            {gained[first].data, num_votes, 2, NUM_TYPES}, {if_careful[first].data, num_votes, K}};
}

// Runs all n items: asks while 1 - max_z r(z) > doubt * min(1, (1 + votes so far) / warm_up), closes the item, revises
// the earlier items floor(draw * i) for draws (n, revised) in [0, 1), and refits the prior when it is due.
// online (n, K) gets the beliefs at which the items closed, asked (n,) the numbers of votes.
void run_crowd(const CrowdState& state, const CrowdItems& items, const CrowdRule& rule, InFloatGrid draws,
               FloatGrid online, Ints asked) {
    Int num_votes = 0;
    for (Int i = 0; i < asked.size; i++) {
        Floats belief = items.belief[i];
        InFloats log_f = items.log_f[i];
        prior_into(state, log_f, belief);
        Int v = items.start[i];
        for (; v < items.start[i + 1]; v++) {
            if (1.0 - belief.max() <= rule.doubt * std::min(1.0, (1.0 + num_votes) / rule.warm_up)) break;
            count_votes(state, log_f, items.person.part(v, v + 1), items.label.part(v, v + 1), belief);
            num_votes++;
        }
        asked[i] = v - items.start[i];
        std::copy(belief.begin(), belief.end(), online[i].data);
        add_item(state, items.item(i, asked[i]));
        for (double draw : draws[i]) {
            if (i == 0) break;
            Int earlier = static_cast<Int>(draw * i);
            revise(state, items.item(earlier, asked[earlier]));
        }
        if ((i + 1) % rule.refit_every == 0) {
            Int first = std::max(Int{0}, i + 1 - rule.window), K = belief.size, count = i + 1 - first;
            refit_prior(state, {items.log_f[first].data, count, K}, {items.belief[first].data, count, K});
        }
    }
}

}  // namespace quorate
