# %% [markdown]
# # Read a model card
#
# A released model comes with a card, `card.md` and `card.html`. It is for the person who gets the model: what it is,
# what it guarantees and what it does not. Here we release a model of a made-up table and read its card.

# %%
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())
os.chdir(folder)
os.environ["PRIVCURVE_SEEDS"] = str(folder / "seeds")

rng = np.random.default_rng(3)
n = 2000
table = pd.DataFrame({"age": rng.integers(18, 91, n), "smokes": rng.choice(["no", "yes"], n)})
chance = 0.1 + 0.5 * (table["age"] > 55) + 0.3 * (table["smokes"] == "yes")
table["sick"] = np.where(rng.random(n) < chance, "yes", "no")
table.to_csv("patients.csv", index=False)

# %% [markdown]
# ## Release
#
# In a notebook `!` runs a shell command. `describe` drafts what is public. Here it needs no decision from you: the bounds of an
# age and the words *yes* and *no* are conventions. Other columns would be left for you to decide.

# %%
# !privcurve describe patients.csv --label sick

# %% [markdown]
# Who answers for the records, and what models of them are for, is nothing that a program can draft:

# %%
description = Path("descriptions/patients.yaml")
about = """\
about:
  owner: St Mary's hospital
  contact: privacy@hospital.example
  purpose: to plan beds a month ahead; not to decide about anyone
"""
description.write_text(description.read_text("utf-8") + about, "utf-8")

# %%
# !privcurve release patients --epsilon 1 --delta 1e-6

# %% [markdown]
# ## The card

# %%
from IPython.display import Markdown

card = Path("releases/patients/1/card.md").read_text("utf-8")
Markdown(("\n" + card).replace("\n#", "\n###"))

# %% [markdown]
# ## What to look for
#
# On the first page:
#
# - **Who, when, what for.** Ask there if you want to use the model for something else.
# - **How private it is.** ε is what a guess about one person can gain. Half of all guesses between two equally likely answers are right
#   without the model; the card says how many can be with it. Smaller ε is more privacy.
# - **How good it is.** A release measures no accuracy on the rows unless it pays for it (`--accuracy`).
# - **What is not covered.** Persons with several rows, families, facts about groups, and anyone who has the seed.
#
# In full, which `card.html` folds away:
#
# - **The statement.** *replace-one* means: if any one row were replaced by another, the same model would be about as
#   likely. *Certified* noise has a proof in this project.
# - **How it decides.** What each value adds to the score. After ± stands how far noise and chance may have moved it.
# - **The ledger.** The mechanism calls, column by column, and what each costs. They add up to ε.
# - **What is public.** Bounds and categories are in the model as they were written.
#
# [The model file](../model_file.md) explains each key of `model.json`. `privcurve budget` adds up all
# releases of the dataset:

# %%
# !privcurve budget patients
