"""Describing: draft descriptions, ask their owner what a draft leaves open, and check them.

:func:`draft` describes a table from its content and leaves blank what its owner has to decide,
:func:`questions` returns the blanks as questions, and :func:`check` compares a description with the
data files.
"""

from privcurve.datasets.describing.columns import FINE, Proposal
from privcurve.datasets.describing.decide import CardQuestion, Question, card_questions, questions
from privcurve.datasets.describing.drafts import draft, name_of, profile_table, proposals
from privcurve.datasets.describing.label import LabelChoice
from privcurve.datasets.describing.report import Report, Tally, check, propose_bins
from privcurve.datasets.describing.text import Draft
