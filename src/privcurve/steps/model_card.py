"""Train the model of a card, write the card as a table and draw it.

The statement on the card is about its one model. The CSV of votes is for the comparison with
the thesis: it holds the models of all repeats of all arms, whose budgets add up.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common, _thesis


def main() -> None:
    """Read the command line, train, write and draw."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.model_card", description=__doc__
    )
    _thesis.add_study_arguments(parser)
    _thesis.add_selected_argument(parser)
    parser.add_argument("--data", type=Path, required=True, help="folder of the coded dataset")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--table", type=Path, required=True, help="table, without its ending")
    parser.add_argument("--figure", type=Path, required=True, help="figure, without its ending")
    parser.add_argument(
        "--votes", type=Path, required=True, help="CSV: votes of all models, whose budgets add up"
    )
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve import datasets
    from privcurve.analysis import model_card, tables
    from privcurve.datasets import describe
    from privcurve.experiments import models
    from privcurve.figures import model_card as drawing
    from privcurve.figures import style
    from privcurve.files import replace_text

    study, arms = _thesis.arms_of(arguments)
    selected = tables.read_table(*arguments.selected)
    data = datasets.read(arguments.data)
    names = data.domain.bin_names
    title = describe(data.name).title.partition(":")[0]
    frames = []
    for arm in arms:
        point = models.selected_point(arm, selected, data.name, arguments.epsilon)
        inspected = list(models.inspect(data, arm, point, study.repeats, arguments.seed))
        found = [(model.repeat, model.accuracy(), model.votes(names)) for model in inspected]
        frames.append(model_card.votes_frame(str(arm.calibration), point.epsilon, found))
        if arm is arms[0]:
            _, accuracy, votes = found[0]
            card = model_card.card(votes)
            heading = model_card.heading(title, point.epsilon, accuracy)
            positive = f"{data.domain.label.column} {data.domain.label.positive}"
            tables.write_table(
                card,
                arguments.table,
                "A model card: " + "; ".join(heading),
                model_card.notes(positive, point.text, str(inspected[0].learner.privacy_)),
                shown=model_card.shown(card),
            )
            figure = drawing.model_card(card, "\n".join(heading), positive)
            style.save(figure, card, arguments.figure)
    replace_text(arguments.votes, pd.concat(frames).to_csv(index=False))


if __name__ == "__main__":
    _common.run(main)
