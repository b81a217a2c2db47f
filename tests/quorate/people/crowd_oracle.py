"""The crowd model's equations in plain NumPy: slow, with as few in-place changes as possible."""

import numpy as np

PRIOR = np.array([0.90, 0.05, 0.03, 0.02])


class Oracle:
    def __init__(self, num_people, K, log_f):
        self.K, self.log_f = K, log_f
        self.C = np.zeros((num_people, K, K))
        self.m = np.zeros((num_people, K))
        self.s = np.zeros(num_people)
        self.L = np.zeros((num_people, 2, 4))
        self.P = np.zeros((K, K))
        self.tau, self.b = 1.0, np.zeros(K)
        self.closed = {}  # item -> votes, belief, what each vote added

    def pooled(self):
        K = self.K
        own = 1 / K + 0.75 * (1 - 1 / K)
        guess = np.full((K, K), (1 - own) / (K - 1))
        np.fill_diagonal(guess, own)
        rows = 20 * guess + self.P
        return rows / rows.sum(axis=1, keepdims=True)

    def hit_rates(self, e, least=-np.inf):
        own = np.diag(self.pooled())
        return 1 / (1 + np.exp(-(np.log(own / (1 - own)) + max(self.s[e], least))))

    def centre(self, e, least=-np.inf):
        Q, a = self.pooled(), self.hit_rates(e, least)
        centre = (1 - a)[:, None] * Q / (1 - np.diag(Q))[:, None]
        np.fill_diagonal(centre, a)
        return centre

    def rows(self, e):
        return (4 * self.centre(e) + self.C[e]) / (4 + self.C[e].sum(axis=1, keepdims=True))

    def has_prediction(self, i):
        return np.ptp(self.log_f[i]) > 0

    def careless(self, e, y, i):
        habit = (0.3 + self.m[e, y]) / (0.3 * self.K + self.m[e].sum())
        copy = 0.9 * (y == np.argmax(self.log_f[i])) + 0.1 / self.K
        return np.array([1 / self.K, habit, copy])

    def weights(self, e):
        w = PRIOR * np.exp(self.L[e, 0] - self.L[e, 0].max())
        return w / w.sum()

    def likelihood(self, e, y, i):
        w, p, q = self.weights(e), self.careless(e, y, i), self.rows(e)[:, y]
        if self.has_prediction(i):
            return w[0] * q + w[1:] @ p
        return (w[0] + w[3]) * q + w[1:3] @ p[:2]

    def prior(self, i):
        if self.has_prediction(i):
            scores = np.exp(self.tau * self.log_f[i] + self.b)
            return scores / scores.sum()
        seen = 2 + sum((done["r"] for done in self.closed.values()), np.zeros(self.K))
        return seen / seen.sum()

    def belief(self, i, votes):
        r = self.prior(i)
        for e, y in votes:
            r = r * self.likelihood(e, y, i)
        return r / r.sum()

    def close(self, i, votes, r):
        added = []
        for e, y in votes:
            without = r / self.likelihood(e, y, i)
            p = self.careless(e, y, i)
            gained = []
            judged = self.centre(e, least=-1)
            if self.has_prediction(i):  # a tenth of careful votes follow the prediction, whatever the class
                judged = 0.9 * judged + 0.1 * self.prior(i)
            for rows in (self.rows(e), judged):
                careful = without @ rows[:, y] / without.sum()
                gained.append(np.log([careful, p[0], p[1], p[2] if self.has_prediction(i) else careful]))
            w, q = self.weights(e), self.rows(e)[:, y]
            joint = without * (w[0] + (0 if self.has_prediction(i) else w[3])) * q / r.sum()  # class, and careful
            added.append((joint / joint.sum(), joint.sum(), np.array(gained)))
        self.closed[i] = {"votes": votes, "r": r, "added": added}
        for (e, y), learned in zip(votes, added, strict=True):
            self.change(e, y, *learned, 1, is_alone=len(votes) == 1 and self.has_prediction(i))
            self.improve(e)

    def change(self, e, y, if_careful, careful, gained, sign, *, is_alone):
        self.C[e, :, y] += sign * if_careful
        labels = np.tile(np.eye(self.K)[y], (self.K, 1))
        if is_alone:  # which wrong label it is says nothing: even over the wrong ones
            labels = np.where(np.arange(self.K)[:, None] == y, labels, (1 - np.eye(self.K)) / (self.K - 1))
        self.P += sign * careful * if_careful[:, None] * labels
        self.m[e, y] += sign
        self.L[e] += sign * gained

    def improve(self, e):
        a, n = self.hit_rates(e), self.C[e].sum(axis=1)
        gradient = np.sum(np.diag(self.C[e]) - n * a) - self.s[e] / 0.3
        self.s[e] += np.clip(gradient / (np.sum(n * a * (1 - a)) + 1 / 0.3), -1, 1)

    def revise(self, i):
        done = self.closed.pop(i)
        for (e, y), learned in zip(done["votes"], done["added"], strict=True):
            self.change(e, y, *learned, -1, is_alone=len(done["votes"]) == 1 and self.has_prediction(i))
        self.close(i, done["votes"], self.belief(i, done["votes"]))

    def refit(self):
        shown = [i for i in sorted(self.closed)[-500:] if self.has_prediction(i)]
        for _ in range(2):
            r = np.array([self.closed[i]["r"] for i in shown]).reshape(-1, self.K)
            pi = np.array([self.prior(i) for i in shown]).reshape(-1, self.K)
            log_f = self.log_f[shown]
            tau = self.tau
            slope = ((r - pi) * log_f).sum() + 2 / tau - 2
            bend = ((pi * log_f**2).sum(axis=1) - (pi * log_f).sum(axis=1) ** 2).sum() + 2 / tau**2
            slope_b = (r - pi).sum(axis=0) - self.b / 0.25
            bend_b = (pi * (1 - pi)).sum(axis=0) + 1 / 0.25
            self.tau = min(tau + np.clip(0.5 * slope / bend, -tau / 2, tau / 2), 1.0)
            self.b = self.b + 0.5 * slope_b / bend_b


def run(votes_of, num_people, log_f, doubt, draws):
    """Beliefs when items closed and after the last one; `votes_of[i]` lists (person, label) in the order of asking."""
    n, K = log_f.shape
    oracle, online, asked = Oracle(num_people, K, log_f), np.empty((n, K)), 0
    for i, votes in enumerate(votes_of):
        seen = []
        for vote in votes:
            if 1 - oracle.belief(i, seen).max() <= doubt * min(1, (1 + asked) / 60):
                break
            seen.append(vote)
            asked += 1
        online[i] = oracle.belief(i, seen)
        oracle.close(i, seen, online[i])
        for draw in draws[i]:
            if i:
                oracle.revise(int(draw * i))
        if (i + 1) % 20 == 0:
            oracle.refit()
    for i in range(n):
        oracle.revise(i)
    return oracle, online
