"""Make the card of one private model: its conditions, accuracy and privacy statement.

The privacy statement on the card covers only this model. A CSV file has the votes of the models of
all repeats and methods, for the comparison with the models that the thesis prints; the budgets of
these models add up.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from privcurve.figures import style
from privcurve.files import replace_text
from privcurve.lazy import Figure, pd, ticker
from privcurve.outputs.base import (
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    dataset_title,
)
from privcurve.stored import stored_frame
from privcurve.tables.table import Table

from ._checks import check_votes

if TYPE_CHECKING:
    from privcurve.datasets import Domain
    from privcurve.experiments.methods import Method, Point
    from privcurve.experiments.models import Inspection


INSPECTED = ("lazybb", "topdown")


class ModelCard(Output):
    """Table and figure of one model, and a CSV file with the votes of all models.

    The table and the figure show the model of the first repeat.
    """

    word: ClassVar[str] = "model_card"
    version: ClassVar[int] = 6
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB or trees", str),
        "dataset": Option("a dataset of the study", str),
        "epsilon": Option("an ε of that learner", float),
    }

    def check(self, request: OutputRequest) -> None:
        check_votes(request)
        request.check_dataset(request.options["dataset"])
        request.check_epsilon(request.options["learner"], request.options["epsilon"])
        for method in request.methods_of(request.options["learner"]):
            if method.learner not in INSPECTED:
                raise ValueError(
                    f"learner must be one of {', '.join(INSPECTED)}; got {method.name}"
                )

    def files(self, request: OutputRequest) -> Files:
        folder = Path("results", request.study.paper or request.study.name)
        votes = folder / f"{request.key.removesuffix('_card')}_votes.csv"
        return Files((request.table,), (request.figure,), {"votes": votes})

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.methods_of(request.options["learner"])
        dataset = request.options["dataset"]
        versions = [method.version for method in methods]
        curves = tuple((dataset, method.name) for method in methods)
        return Reads(curves, data=(dataset,), facts=[dataset_title(dataset), versions])

    def make(self, context: Context) -> None:
        from privcurve.experiments import models

        from ._insides import votes_of

        selected = context.read_selected()
        data = context.data(context.options["dataset"])
        methods = context.request.methods_of(context.options["learner"])
        frames = []
        for method in methods:
            point = models.selected_point(method, selected, data.name, context.options["epsilon"])
            repeats = context.study.repeats
            inspected = list(models.train_afresh(data, method, point, repeats, context.seed))
            votes = [
                (model.repeat, model.accuracy(), votes_of(model, _bin_names(model, data.domain)))
                for model in inspected
            ]
            frames.append(votes_frame(str(method.calibration), point.epsilon, votes))
            if method is methods[0]:
                self._card(context, method, point, inspected[0])
        text = stored_frame(pd.concat(frames)).to_csv(index=False)
        replace_text(context.request.files.others["votes"], text)

    def _card(self, context: Context, method: Method, point: Point, model: Inspection) -> None:
        from ._insides import is_of_trees, votes_of

        domain = context.data(context.options["dataset"]).domain
        card = votes_in_order(votes_of(model, _bin_names(model, domain)))
        tested = model.unseen is not None
        # The cards of the thesis have this label for LazyBB with 1-rules. The title that a study
        # gives its method may differ, so it is used only for trees.
        label = "LazyBB with 1-rules" if not is_of_trees(model) else method.title
        dataset = dataset_title(context.options["dataset"])
        accuracy = model.accuracy() if tested else None
        heading = headings(label, dataset, point.epsilon, accuracy)
        positive = f"{domain.label.column} {domain.label.positive}"
        notes = notes_of(
            positive,
            point.text,
            str(model.learner.privacy_),
            trees=is_of_trees(model),
            tested=tested,
            left_out=max(0, len(card) - MOST_BARS),
        )
        context.write(Table(card, "A model card: " + "; ".join(heading), notes, format_table(card)))
        context.draw(draw(card.head(MOST_BARS), "\n".join(heading), positive), card)


def _bin_names(model: Inspection, domain: Domain) -> tuple[tuple[str, ...], ...]:
    """Return, for each column, the names of the bins after the learner has merged bins."""
    return model.learner._on_groups(domain)[1].bin_names


# In the CSV file, a model without votes has this one row.
NO_VOTES: list[tuple[int, str | None]] = [(0, None)]


def votes_in_order(votes: Sequence[tuple[int, str]]) -> pd.DataFrame:
    """Return a model's votes as a table, sorted by their absolute number, largest first.

    Of votes with the same absolute number, positive votes come first.
    """
    ordered = sorted(votes, key=lambda vote: (-abs(vote[0]), -vote[0]))
    return pd.DataFrame(ordered, columns=["votes", "condition"])


def format_table(card: pd.DataFrame) -> pd.DataFrame:
    """Return the card for readers: with a plus or minus sign on the votes."""
    return card.assign(votes=[f"{votes:+d}" for votes in card["votes"]])


def headings(label: str, dataset: str, epsilon: float, accuracy: float | None) -> tuple[str, str]:
    """Return the two lines of the card's heading: model and ε; dataset and test accuracy."""
    score = "no test part" if accuracy is None else f"test accuracy {accuracy:.3f}"
    return f"{label}, ε = {epsilon:g}", f"{dataset}: {score}"


def notes_of(
    positive: str, setting: str, statement: str, *, trees: bool, tested: bool, left_out: int = 0
) -> tuple[str, ...]:
    """Return the notes below the card: how to read it, the privacy statement, and the setting.

    `trees` says whether the model consists of trees, `tested` whether the dataset has a test part;
    `left_out` is the number of conditions that the figure does not show.
    """
    silent = "adds nothing" if trees else "subtracts them"
    score = (
        "The test accuracy is measured on records that were not used in training; the statement "
        "does not cover them."
        if tested
        else "The dataset has no test part: all of its records train the model, and none are left "
        "to score it."
    )
    return (
        f"A condition that holds adds its votes, one that does not hold {silent}; a sum above 0 "
        f"predicts {positive}.",
        statement,
        f"Setting: {setting}, selected by cross-validation, which is not private.",
        score,
        *([f"The figure leaves out the {left_out} lightest conditions."] if left_out else []),
    )


def votes_frame(
    calibration: str, epsilon: float, models: Sequence[tuple[int, float, Sequence[tuple[int, str]]]]
) -> pd.DataFrame:
    """Return the votes of several models, with one row for each vote.

    `models` are triples (repeat, accuracy, votes). A model without votes has one row. All models
    are trained on the same records, so their ε add up, which a model's own statement does not say.
    """
    names = ["calibration", "epsilon", "repeat", "accuracy", "votes", "condition"]
    rows = [
        (calibration, epsilon, repeat, accuracy, *vote)
        for repeat, accuracy, votes in models
        for vote in (votes or NO_VOTES)
    ]
    return pd.DataFrame(rows, columns=names)


HEIGHT_OF_A_BAR = 0.19
HEIGHT_OF_THE_REST = 1.0
# Maximum number of conditions in the figure, which must fit on a page; the table has all.
MOST_BARS = 30
FOR, AGAINST = style.COLOURS[0], style.COLOURS[3]
WIDEST = 46  # maximum number of characters in a line of a condition


def _with_sign(value: float, _: int | None = None) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"


def draw(card: pd.DataFrame, title: str, positive: str) -> Figure:
    """Draw a bar for each vote, in the order of the card; `positive` names the positive label."""
    if card.empty:
        raise ValueError("card must have at least one vote; got none")
    with style.paper():
        names = [textwrap.fill(text, WIDEST) for text in card["condition"]]
        wide = card["condition"].map(len).max() > WIDEST
        height = HEIGHT_OF_THE_REST + HEIGHT_OF_A_BAR * sum(
            0.6 * name.count("\n") + 1 for name in names
        )
        figure = style.new_figure(style.TEXT_WIDTH if wide else style.COLUMN_WIDTH, height)
        panel = figure.add_subplot()
        places = list(range(len(card)))
        colours = [FOR if votes > 0 else AGAINST for votes in card["votes"]]
        panel.barh(places, card["votes"], height=0.7, color=colours)
        panel.set_yticks(places, names)
        if wide:
            panel.margins(y=0.01)
        panel.invert_yaxis()
        panel.tick_params(axis="y", length=0)
        panel.grid(False, axis="y")
        panel.axvline(0, color="0.2", linewidth=0.6)
        panel.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
        panel.xaxis.set_major_formatter(ticker.FuncFormatter(_with_sign))
        panel.set_xlabel("Votes where it holds")
        figure.suptitle(title, fontsize=7.5)
        sides = {f"for {positive}": FOR, f"against {positive}": AGAINST}
        figure.legend(
            handles=[style.key_patch(name, color=colour) for name, colour in sides.items()],
            loc="outside lower center",
            ncols=2,
            handlelength=1.2,
            borderaxespad=0.2,
        )
    return figure
