# %% [markdown]
# # A private model of your own table, in ten minutes
#
# You have a table in which each row is about a person, and a yes-or-no question about them. You want a model that you
# can give to others. Whoever gets it, whatever else they know, should learn next to nothing about any one row.
#
# This page is a notebook that was run when these pages were built: each cell is followed by its output.
# To run it yourself: `pip install .` in a checkout of the repository.

# %% [markdown]
# ## A table
#
# Use your own. For this page we make one up: 4,000 people, three columns, and a label that depends on age and smoking.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
n = 4000
people = pd.DataFrame(
    {
        "age": rng.integers(18, 91, n),
        "smokes": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
        "visits": rng.poisson(2, n),
    }
)
risk = 0.05 + 0.5 * (people["age"] > 55) + 0.3 * (people["smokes"] == "yes")
people["outcome"] = np.where(rng.random(n) < risk, "sick", "healthy")
people.head()

# %% [markdown]
# ## What is public
#
# A private model needs to know, without looking at the rows, which values are *possible*: the lowest and highest possible
# number of each numeric column, and the categories of the others. Decide that from what everybody knows, such
# as a form or a law, never from the table: **a bound that is copied from the table tells its largest value to everyone**.

# %%
from privcurve import PrivGAMClassifier, Schema

schema = Schema(
    {"age": (0, 120), "smokes": ["no", "yes"], "visits": (0, 50)},
    label=["healthy", "sick"],
)

# %% [markdown]
# ## Fit
#
# ε (epsilon) says how much one row may matter: no conclusion about a person becomes more than e^ε times as likely because their
# row was in the table. That is 2.7 times at ε = 1, and 1.1 times at ε = 0.1. δ (delta) is a small probability with which this may
# fail. Choose it well below one over the number of rows.
#
# We recommend `PrivGAMClassifier` for two classes: none of its settings has to be tuned on the rows. It is a scikit-learn
# classifier and takes the data frame as it is.

# %%
train, new = people[:3000], people[3000:]
model = PrivGAMClassifier(epsilon=1, delta=1e-6, schema=schema, random_state=1)
model.fit(train, train["outcome"])
print(f"right for {model.score(new, new['outcome']):.3f} of the new rows")
print(f"always saying 'healthy' is right for {(new['outcome'] == 'healthy').mean():.3f}")

# %% [markdown]
# `random_state=1` makes this page print the same numbers each time. **Leave it out for real records**: noise that
# someone can draw again protects nothing.
#
# ## What does privacy cost here?
#
# Fit at other values of ε, and without privacy (ε = ∞). This looks at the test rows, so the numbers are for you alone.

# %%
for epsilon in (0.1, 0.3, 1, 3, float("inf")):
    delta = 1e-6 if epsilon < float("inf") else 0
    fits = [
        PrivGAMClassifier(epsilon=epsilon, delta=delta, schema=schema, random_state=seed).fit(
            train, train["outcome"]
        )
        for seed in range(5)
    ]
    scores = [fit.score(new, new["outcome"]) for fit in fits]
    print(f"ε = {epsilon:<4g} {np.mean(scores):.3f} (± {np.std(scores):.3f} over five fits)")

# %% [markdown]
# ## What is guaranteed
#
# Each fitted model has a statement: what is protected, how the parts of ε add up, and what is assumed to be public.

# %%
print(model.privacy_)

# %% [markdown]
# ## Save it, load it, predict
#
# A model is one JSON file. It holds no rows and no code.

# %%
import tempfile
from pathlib import Path

import privcurve

path = Path(tempfile.mkdtemp(), "model.json")
privcurve.save(path, model)
again = privcurve.load(path)
answers = again.predict_proba(new.head(3))
pd.DataFrame(answers, columns=again.classes).round(3)

# %% [markdown]
# ## Before you hand it on
#
# Every model of the same rows gives more away: two models at ε = 1 are ε = 2 for whoever has both. The commands
# keep account for you. They record what is spent before they train, draw a secret seed, and write a card for the model.
#
# ```
# privcurve describe patients.csv --label sick
# privcurve decide patients
# privcurve release patients --epsilon 1 --delta 1e-6
# ```
#
# Next: [read a model card](read_a_card.py), or [your own data](../your_data.md), which has every option.
