"""Which outputs there are: an output is one file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.outputs.accuracy import Accuracy, SelectedSettings
from privcurve.outputs.audit import Audit
from privcurve.outputs.base import Output
from privcurve.outputs.boxes import Boxes
from privcurve.outputs.communication import Communication
from privcurve.outputs.comparison import Comparison
from privcurve.outputs.error_table import ErrorTable
from privcurve.outputs.leaderboard import Leaderboard
from privcurve.outputs.learning_curves import LearningCurves
from privcurve.outputs.ledgers import Ledgers
from privcurve.outputs.mean_ranks import MeanRanks
from privcurve.outputs.model_card import ModelCard
from privcurve.outputs.price import Price, RawScores
from privcurve.outputs.shapes import Shapes
from privcurve.outputs.sweep import Sweep
from privcurve.outputs.thresholds import Thresholds
from privcurve.papers import ensembles
from privcurve.papers.advantage_and_margins import AdvantageAndMargins
from privcurve.papers.claims import Claims
from privcurve.papers.error_profiles import BinProfiles, ErrorProfiles, ErrorShares
from privcurve.papers.flipped_labels import FlippedLabels
from privcurve.papers.m_alpha_curves import MAlphaCurves
from privcurve.papers.printed import Printed
from privcurve.papers.rademacher import Rademacher
from privcurve.papers.sparsity import Sparsity
from privcurve.papers.verdict_counts import VerdictCounts

OUTPUTS: Mapping[str, Output] = {
    output.word: output
    for output in (
        Accuracy(),
        SelectedSettings(),
        RawScores(),
        Price(),
        LearningCurves(),
        Leaderboard(),
        Ledgers(),
        Sweep(),
        Boxes(),
        Claims(),
        VerdictCounts(),
        Communication(),
        Printed(),
        ModelCard(),
        Shapes(),
        Thresholds(),
        FlippedLabels(),
        Sparsity(),
        Rademacher(),
        AdvantageAndMargins(),
        Audit(),
        ErrorTable(),
        MeanRanks(),
        Comparison(),
        ensembles.EnsembleErrors(),
        ensembles.EnsembleLeast(),
        ensembles.EnsembleAlphas(),
        ensembles.EnsembleSizes(),
        ensembles.EnsembleDomains(),
        ensembles.EnsembleWins(),
        ensembles.EnsembleWinsOverall(),
        ErrorShares(),
        ErrorProfiles(),
        BinProfiles(),
        MAlphaCurves(),
    )
}
