"""The contract of a release: its files and a noisy evaluation follow only from answers."""

from dataclasses import replace
from pathlib import Path

import pytest
from mistakes_any import replacement_of

from privcurve.audit.replay_fits import CONTROL, POST_PROCESSING
from privcurve.releases import card, evaluation
from privcurve.releases import release as releasing
from privcurve.releases.choice import CHOOSE
from privcurve.releases.contract import MODEL, check_release, main, releasable, requests
from privcurve.releases.released import CARD, Released

ALL = [(request, kind) for name in releasable() for request, kind in requests(name)]
FIRST = {request.learner: (request, kind) for request, kind in reversed(ALL)}
# A choice among learners; public columns; private numbers of records, partitioned and of persons.
QUICK = [FIRST[name] for name in ("noisy_bayes", CHOOSE)] + [
    (request, kind)
    for request, kind in ALL
    if request.learner in ("lazybb", "privgam")
    and not request.delta
    and request != FIRST["lazybb"][0]
]


def named(request, kind):
    return "-".join(filter(None, (request.learner, request.relation, f"{request.delta}", kind)))


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        pytest.param(*one, id=named(*one), marks=[] if one in QUICK else [pytest.mark.slow])
        for one in ALL
    ],
)
def test_a_release_keeps_it(request_, kind):
    assert str(check_release(request_, kind) or "") == ""


MUTANTS = []


def mutant(owner, name, where, why, learner="noisy_bayes"):
    def registered(change):
        patch = replacement_of(owner, name)(change)
        MUTANTS.append(pytest.param(patch, learner, where, why, id=change.__name__))
        return change

    return registered


def lines_of(name):
    """Return the exact records of a table; a mistake writes a part of them into a file."""
    return Path(name).read_text().splitlines()[1:]


def share_of_positive():
    lines = lines_of("table.csv")
    return sum(line.endswith('"yes"') for line in lines) / len(lines)


@mutant(releasing.models, "save", MODEL, "base_rate")
def a_note_of_the_base_rate(original, path, learner, domain, *, notes, **more):
    original(path, learner, domain, notes={**notes, "base_rate": share_of_positive()}, **more)


@mutant(releasing.models, "save", MODEL, "Rome")
def a_domain_without_categories_that_never_occur(
    original, path, learner, domain, *, dataset, **more
):
    occur = sorted({line.split('"')[3] for line in lines_of("table.csv")})
    original(path, learner, domain, dataset={"title": dataset, "towns": occur}, **more)


def held_out(learner, codes, labels):
    """Return the exact numbers of held-out records, and of positive ones."""
    return len(labels), int((labels > 0).sum())


@mutant(releasing.holdout, "ask", CARD, "about ")
def the_exact_number_of_records_held_out(original, learner, codes, labels, *given):
    judged = original(learner, codes, labels, *given)
    return replace(judged, n=10.0 * held_out(learner, codes, labels)[1])


@mutant(releasing.holdout, "ask", CARD, "ean probability")
def a_share_of_the_exact_labels_held_out(original, learner, codes, labels, *given):
    n, n_positive = held_out(learner, codes, labels)
    return replace(original(learner, codes, labels, *given), predicted=n_positive / n)


@mutant(releasing.holdout, "score_bins", CARD, "ean probability")
def cut_points_of_the_exact_scores(original, learner, n_bins, weights):
    bins = original(learner, n_bins, weights)
    return replace(bins, chances=bins.chances * share_of_positive())


@mutant(card, "_describe_neighbours", "card.html", "majority")
def a_comparison_with_the_exact_majority(original, released):
    return f"{original(released)} The majority has {share_of_positive():.3f}."


@mutant(card, "_describe_records", CARD, "240 of them", "privgam")
def the_number_of_distinct_records(original, released):
    return f"{original(released)}, {len(set(lines_of('table.csv'))):03} of them distinct"


@mutant(card, "_describe_column", "card.html", "up to")
def the_largest_value_that_occurs(original, column, released):
    *cells, last = original(column, released)
    ages = [line.split('"')[1] for line in lines_of("table.csv")]
    return (*cells, f"{last}; up to {max(ages)}")


@mutant(Released, "delta_remarks", CARD, "one record in", "privgam")
def a_remark_by_the_exact_number_of_records(original, self):
    return [*original(self), (f"There is one record in {len(lines_of('table.csv'))}.", False)]


EVALUATION = "what evaluate --epsilon returns"


@mutant(evaluation, "_measure_counts", EVALUATION, "n=")
def groups_without_a_record_left_out(original, name, counts, spread):
    answers = {line.split('"')[3] for line in lines_of("test.csv")}
    row = original(name, counts, spread)
    return row if name in ("all", *answers) else row._replace(error=evaluation.UNMEASURED)


@mutant(evaluation, "_measure_counts", EVALUATION, "n=")
def an_exact_number_of_records_of_a_group(original, name, counts, spread):
    n = sum(name in line for line in lines_of("test.csv"))
    return original(name, counts, spread)._replace(n=n)


@pytest.mark.parametrize(("change", "learner", "where", "why"), MUTANTS)
def test_a_mistake_is_seen(monkeypatch, change, learner, where, why):
    change(monkeypatch)
    # For PrivGAM the case with a private number of records.
    request, kind = [one for one in ALL if one[0].learner == learner and not one[1]][
        -1 if learner == "privgam" else 0
    ]
    breach = check_release(request, kind)
    assert breach.point == POST_PROCESSING
    assert breach.why.startswith(f"{where}, line ")
    assert why in breach.why


def test_a_release_that_fails_for_only_one_table_is_found(monkeypatch):
    own = card._describe_neighbours

    def failing(released):
        if share_of_positive() < 0.1:
            raise ZeroDivisionError("of few")
        return own(released)

    monkeypatch.setattr(card, "_describe_neighbours", failing)
    breach = check_release(*FIRST["noisy_bayes"])
    assert (breach.point, breach.why.partition(" (")[0]) == (
        CONTROL,
        "a release ends with ReleaseError: noisy_bayes could not be trained: of few",
    )


def test_the_command_names_releases_that_break_it(monkeypatch, capsys):
    assert main(["noisy_majority"]) == 0
    assert "1 of 1 releases keep the contract." in capsys.readouterr().out
    replacement_of(card, "_describe_neighbours")(a_comparison_with_the_exact_majority)(monkeypatch)
    assert main(["noisy_majority"]) == 1
    assert "noisy_majority (replace-one, 0): post-processing: card.html, line " in (
        capsys.readouterr().out
    )
    assert main(["pate"]) == 2
