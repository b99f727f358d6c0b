"""One private model, whole: what it asks, how good it is, what it guarantees.

The statement on the card is about its one model. The CSV of votes is for the comparison with
printed models: it holds the models of all repeats of all arms, whose budgets add up.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import NUMBER, REQUIRED, TEXT, Option

if TYPE_CHECKING:
    from privcurve.experiments.models import Inspection
    from privcurve.experiments.study import Arm, Point

INSPECTED = ("lazybb", "topdown")


class ModelCard(Output):
    """Table and figure of the first model, and the votes of all of them."""

    word: ClassVar[str] = "model_card"
    version: ClassVar[int] = 3
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB or trees", TEXT, REQUIRED),
        "dataset": Option("a dataset of the study", TEXT, REQUIRED),
        "epsilon": Option("an ε of that learner", NUMBER, REQUIRED),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.check_dataset(asked.options["dataset"])
        asked.check_epsilon(asked.options["learner"], asked.options["epsilon"])
        for arm in asked.arms_of(asked.options["learner"]):
            if arm.learner not in INSPECTED:
                raise ValueError(f"{arm.name}: there are cards of {', '.join(INSPECTED)} alone")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        votes = Path("results", asked.study.paper or asked.study.name, "model_votes.csv")
        return Files((asked.table,), (asked.figure,), {"votes": votes})

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = asked.arms_of(asked.options["learner"])
        dataset = asked.options["dataset"]
        return Reads(
            tuple((dataset, arm.name) for arm in arms),
            data=(dataset,),
            facts=[dataset_title(dataset), [registry.entry(arm.learner).version for arm in arms]],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.analysis import model_card
        from privcurve.experiments import models
        from privcurve.files import replace_text

        selected = context.selected()
        data = context.data(context.options["dataset"])
        names = data.domain.bin_names
        arms = context.asked.arms_of(context.options["learner"])
        frames = []
        for arm in arms:
            point = models.selected_point(arm, selected, data.name, context.options["epsilon"])
            repeats = context.study.repeats
            inspected = list(models.inspect(data, arm, point, repeats, context.seed))
            found = [(model.repeat, model.accuracy(), model.votes(names)) for model in inspected]
            frames.append(model_card.votes_frame(str(arm.calibration), point.epsilon, found))
            if arm is arms[0]:
                self._card(context, arm, point, inspected[0])
        text = pd.concat(frames).to_csv(index=False)
        replace_text(context.asked.files.others["votes"], text)

    def _card(self, context: Context, arm: Arm, point: Point, model: Inspection) -> None:
        from privcurve.analysis import model_card
        from privcurve.figures import model_card as drawing
        from privcurve.tables.table import Table

        domain = context.data(context.options["dataset"]).domain
        card = model_card.card(model.votes(domain.bin_names))
        accuracy = model.accuracy() if model.unseen is not None else None
        # As the paper's card is headed; a study may give its arm any title.
        method = "LazyBB with 1-rules" if not model.of_trees else arm.title
        dataset = dataset_title(context.options["dataset"])
        heading = model_card.heading(method, dataset, point.epsilon, accuracy)
        positive = f"{domain.label.column} {domain.label.positive}"
        notes = model_card.notes(
            positive,
            point.text,
            str(model.learner.privacy_),
            trees=model.of_trees,
            tested=accuracy is not None,
            left_out=max(0, len(card) - drawing.MOST_BARS),
        )
        caption = "A model card: " + "; ".join(heading)
        context.write(Table(card, caption, notes, model_card.shown(card)))
        shown = card.head(drawing.MOST_BARS)
        context.draw(drawing.model_card(shown, "\n".join(heading), positive), card)
