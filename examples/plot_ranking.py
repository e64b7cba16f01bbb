"""Ranking: the most relevant rows first

Each query has thirty rows with grades from 0 to 4, which are not linear in the features. The model
learns scores from the order of pairs inside of the queries. NDCG compares the order by score with
the best one, for the first k places.
"""

import numpy as np
from matplotlib import pyplot as plt

from pocketsvm import BudgetedRanker
from pocketsvm.metrics import mean_ndcg


def queries(n_queries, seed):
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 30)
    X = random.normal(size=(len(qid), 4))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    score += random.normal(size=n_queries)[qid] + 0.3 * random.normal(size=len(qid))
    return X, np.digitize(score, [-0.5, 0.5, 1.5, 2.5]), qid


X, y, qid = queries(200, seed=0)
X_test, y_test, qid_test = queries(100, seed=1)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
places = np.arange(1, 31)
for budget in (10, 30, 200):
    model = BudgetedRanker(budget, C=10, random_state=0).fit(X, y, qid=qid)
    scores = model.predict(X_test)
    curve = [mean_ndcg(y_test, scores, qid_test, k=k) for k in places]
    print(f"{budget:3} vectors: NDCG@10 {curve[9]:.3f}")
    ax.plot(places, curve, label=f"{budget} vectors")
chance = np.random.default_rng(0).random(len(y_test))
ax.plot(
    places,
    [mean_ndcg(y_test, chance, qid_test, k=k) for k in places],
    color="grey",
    linestyle=":",
    label="random order",
)
ax.set(xlabel="places k", ylabel="NDCG@k of new queries", ylim=(0.4, 1.01), xlim=(1, 30))
ax.legend(loc="lower right")
