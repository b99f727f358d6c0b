"""Describing: draft a description, ask the data owner to complete it, and check it.

:func:`draft` describes a table from its content and leaves blank what the owner has to decide,
:func:`questions` returns a question for each blank, and :func:`check` compares a description with
the data files.
"""

from privcurve.datasets.describing.columns import FINE, Proposal
from privcurve.datasets.describing.decide import CardQuestion, Question, card_questions, questions
from privcurve.datasets.describing.drafts import draft, name_of, profile_table, proposals
from privcurve.datasets.describing.label import LabelChoice
from privcurve.datasets.describing.report import Report, Tally, check, propose_bins
from privcurve.datasets.describing.text import Draft
