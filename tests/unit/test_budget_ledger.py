"""The budget ledger: its sums, refusals before training, and a file that is never incomplete."""

import html
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from own_release import QUICK_LEARNER, limit_file_size

from privcurve import datasets
from privcurve.audit.contract import Case, train
from privcurve.audit.pairs import flipped_balance
from privcurve.audit.replay_fits import Replay
from privcurve.cli import main
from privcurve.datasets import DatasetError
from privcurve.files import WriteError, lock_folder
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.releases import budget_ledger as books
from privcurve.releases.budget_ledger import Budget, BudgetLedger, Price, total, totals
from privcurve.releases.errors import LedgerError
from privcurve.releases.released import PAGE

ONE = Price(1.0, 0.0, REPLACE_ONE)
TWO = Budget(2.0, 0.0)


@pytest.fixture
def book(tmp_path):
    return BudgetLedger(tmp_path / "releases/patients")


# Sums ------------------------------------------------------------------------------


def test_two_releases_add_up_and_the_third_is_refused(book):
    for number in (1, 2):
        release = book.reserve(TWO, ONE, {"learner": "privgam"})
        assert release.number == number
        book.close(release, books.DONE, {"folder": str(number)})
    before = book.path.read_bytes()
    with pytest.raises(LedgerError, match=r"cost epsilon = 1, but epsilon = 2 .* 2 releases"):
        book.check(TWO, ONE)
    with pytest.raises(LedgerError, match="Nothing was trained"):
        book.reserve(TWO, ONE, {})
    assert book.path.read_bytes() == before
    # The budget has no room for a smaller release either; a larger budget has.
    with pytest.raises(LedgerError):
        book.reserve(TWO, Price(1e-6, 0.0, REPLACE_ONE), {})
    assert book.reserve(Budget(3.0), ONE, {}).number == 3


def test_deltas_and_tenths_add_up_exactly(book):
    budget = Budget(10.0, 1e-5)
    price = Price(1.0, 6e-6, REPLACE_ONE)
    book.reserve(budget, price, {})
    with pytest.raises(LedgerError, match="delta = 6e-06"):
        book.reserve(budget, price, {})
    book.reserve(budget, Price(1.0, 4e-6, REPLACE_ONE), {})
    with pytest.raises(LedgerError):
        book.reserve(Budget(10.0, 0.0), ONE, {})
    tenths = [Price(0.1, 0.0, REPLACE_ONE)] * 10
    assert Budget(1.0, 0.0).admits(total(tenths, REPLACE_ONE))
    more = [*tenths, Price(1e-6, 0.0, REPLACE_ONE)]
    assert not Budget(1.0, 0.0).admits(total(more, REPLACE_ONE))


def test_a_refusal_says_where_the_budget_allows_no_delta(book):
    with pytest.raises(LedgerError, match=r"\)\. The budget allows no delta\. Nothing"):
        book.check(TWO, Price(1.0, 1e-6, REPLACE_ONE))
    with pytest.raises(LedgerError, match=r"\)\. Nothing was trained"):
        book.check(TWO, Price(3.0, 0.0, REPLACE_ONE))


def test_reserved_and_failed_releases_are_spent(book):
    book.reserve(TWO, ONE, {})
    book.close(book.reserve(TWO, ONE, {}), books.FAILED, {})
    assert [one.state for one in book.releases()] == [books.RESERVED, books.FAILED]
    with pytest.raises(LedgerError):
        book.reserve(TWO, ONE, {})


def test_a_replacement_costs_a_removal_and_an_addition():
    price = Price(1.0, 1e-6, ADD_REMOVE).convert(REPLACE_ONE)
    assert (price.epsilon, price.neighbours) == (2.0, REPLACE_ONE)
    assert price.delta == pytest.approx(1e-6 * (1 + math.e))
    # e^1000 overflows; δ is then 1.
    assert Price(1000.0, 1e-6, ADD_REMOVE).convert(REPLACE_ONE).delta == 1
    assert Price(1.0, 0.0, ADD_REMOVE).convert(ADD_REMOVE) == Price(1.0, 0.0, ADD_REMOVE)
    for stated, wanted in ((REPLACE_ONE, ADD_REMOVE), (PRIVATE_COLUMNS, REPLACE_ONE)):
        assert Price(1.0, 0.0, stated).convert(wanted) is None
        assert total([ONE, Price(1.0, 0.0, stated)], wanted).epsilon == math.inf


def test_a_budget_counts_what_a_release_costs_for_its_own_neighbours(book):
    """ε = 1.5 for add-remove neighbours is ε = 3 for replace-one neighbours."""
    added = Price(1.0, 0.0, ADD_REMOVE)
    with pytest.raises(LedgerError, match="would cost epsilon = 3 for replace-one neighbours"):
        book.check(TWO, Price(1.5, 0.0, ADD_REMOVE))
    with pytest.raises(LedgerError, match="the budget's relation, 'add-remove'; got 'replace-one'"):
        book.check(Budget(2.0, 0.0, ADD_REMOVE), ONE)
    assert total([added, added], REPLACE_ONE) == Price(4.0, 0.0, REPLACE_ONE)
    book.reserve(TWO, added, {})
    for price in (added, Price(0.1, 0.0, REPLACE_ONE)):
        with pytest.raises(LedgerError):
            book.reserve(TWO, price, {})


def test_all_releases_count_for_each_relation_where_there_is_no_budget(book):
    unlimited = Budget.from_description({})
    for price in (ONE, Price(1.0, 0.0, PRIVATE_COLUMNS), ONE, Price(math.inf, 0.0, REPLACE_ONE)):
        book.reserve(unlimited, price, {})
    prices = [one.price for one in book.releases()]
    assert prices[-1].epsilon == math.inf
    # Replace-one neighbours include neighbours that differ in private columns, not the reverse.
    together = [(one.neighbours, one.epsilon) for one in totals(prices[:3], unlimited)]
    assert together == [(REPLACE_ONE, math.inf), (PRIVATE_COLUMNS, 3.0)]
    with pytest.raises(LedgerError):
        book.reserve(Budget(100.0), ONE, {})


# The same total on the card, in the terminal and in the ledger -----------------

# Four releases: (ε, neighbours).
FOUR = ((1.0, REPLACE_ONE), (1.0, ADD_REMOVE), (1.0, REPLACE_ONE), (2.0, REPLACE_ONE))
NOTHING = "epsilon = inf: nothing is guaranteed"


@pytest.mark.parametrize("order", sorted(set(itertools.permutations(FOUR))))
def test_card_terminal_and_ledger_state_one_total_for_each_relation(
    write_private_dataset, capsys, order
):
    """A release for add-remove neighbours counts twice for replace-one neighbours."""
    write_private_dataset(budget=None)
    settings = {
        REPLACE_ONE: f"--learner {QUICK_LEARNER}",
        ADD_REMOVE: "--learner privgam --set n_estimate=50",
    }
    for number, (epsilon, neighbours) in enumerate(order, start=1):
        words = f"--epsilon {epsilon} --neighbours {neighbours} {settings[neighbours]}"
        assert main.main(["release", "mine", *words.split()]) == 0
        terminal = capsys.readouterr().out.splitlines()[-1]
        card = html.unescape(Path(f"releases/mine/{number}", PAGE).read_text())
        lines = Path("releases/mine/ledger.jsonl").read_text().splitlines()
        ledger = {one["neighbours"]: one["epsilon"] for one in json.loads(lines[-2])["together"]}
        counted = [(2 if n == ADD_REMOVE else 1) * epsilon for epsilon, n in order[:number]]
        replaced = f"epsilon = {sum(counted):g}"
        assert f"together {replaced} (replace-one neighbours); " in terminal
        assert f"<li>Together, for replace-one neighbours: {replaced}.</li>" in card
        assert ledger.pop(REPLACE_ONE) == sum(counted)
        if FOUR[1] in order[:number]:
            added = "epsilon = 1" if number == 1 else NOTHING
            assert f"(replace-one neighbours); {added} (add-remove neighbours); " in terminal
            assert f"<li>Together, for add-remove neighbours: {added}.</li>" in card
            assert ledger.pop(ADD_REMOVE) == (1 if number == 1 else "inf")
        assert not ledger
        assert card.count("<li>Together, for ") == 1 + (FOUR[1] in order[:number])


def exact_loss(epsilon, neighbours, pair):
    """Return the worst privacy loss of a PrivGAM on two neighbours, over its possible releases.

    The worst sums are beyond the values that either side can have: there the Laplace densities
    differ by their full distance.
    """
    parameters = {"epsilon": epsilon, "neighbours": neighbours}
    if neighbours == ADD_REMOVE:
        parameters["n_estimate"] = 9
    losses = []
    for k in range(60):
        sides = [Replay([k])]
        sides.append(Replay([k], sides[0]))
        for side, curator in zip((pair.left, pair.right), sides, strict=True):
            train(Case("privgam", parameters), side, curator)
        calls = zip(*(curator.events for curator in sides), strict=True)
        apart = [one.losses(other).values() for one, other in calls]
        losses.append(sum(float(part.sum()) for parts in apart for part in parts))
    return max(losses)


def test_the_total_bounds_the_exact_composition_of_two_learners_and_is_reached():
    """Two PrivGAMs on nine records, with one label flipped, cost 1 and 2, and 3 together."""
    pair = flipped_balance(9, 0)
    losses = {one: exact_loss(*one, pair) for one in set(FOUR)}
    assert losses[1.0, ADD_REMOVE] == pytest.approx(2.0, rel=1e-3)
    for order in itertools.permutations(FOUR):
        for number in range(1, 5):
            # Releases draw their noise independently, so their privacy losses add up.
            exact = math.fsum(losses[one] for one in order[:number])
            prices = [Price(epsilon, 0.0, neighbours) for epsilon, neighbours in order[:number]]
            replaced = totals(prices, Budget())[0]
            assert replaced.neighbours == REPLACE_ONE
            assert 0.99 * replaced.epsilon < exact <= replaced.epsilon * (1 + 1e-9)


def test_a_release_without_a_guarantee_is_reported():
    added, partial, replaced = (
        Price(1.0, 1e-6, one) for one in (ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE)
    )
    ones = [added, partial, replaced]
    result = {one.neighbours: one for one in totals(ones, Budget())}
    assert result[ADD_REMOVE].claim == result[REPLACE_ONE].claim == NOTHING
    # A change of only private columns is a replacement too.
    assert result[PRIVATE_COLUMNS].epsilon == 4
    assert result[PRIVATE_COLUMNS].delta == pytest.approx(1e-6 * (1 + math.e) + 2e-6)
    assert totals([replaced], Budget()) == [replaced]
    (alone,) = totals([added], Budget(neighbours=ADD_REMOVE))
    assert alone.neighbours == ADD_REMOVE
    thrice = totals([Price(1.0, 0.5, REPLACE_ONE)] * 3, Budget())[0]
    assert thrice.claim.endswith("delta = 1: nothing is guaranteed")


# The file --------------------------------------------------------------------------


def test_the_file_belongs_to_its_holder_and_has_one_line_per_entry(book):
    release = book.reserve(TWO, ONE, {"learner": "privgam", "stream": "ab"})
    book.close(release, books.DONE, {"model": "sha"})
    assert book.path.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in book.path.read_text().splitlines()]
    assert [line["state"] for line in lines] == [books.RESERVED, books.DONE]
    (release,) = book.releases()
    assert (release.state, release.price) == (books.DONE, ONE)
    assert {"learner": "privgam", "model": "sha"}.items() <= release.facts.items()


def test_a_line_that_was_torn_was_never_begun(book):
    book.reserve(TWO, ONE, {})
    content = book.path.read_bytes()
    for cut in (1, len(content) // 2, len(content) - 1):
        book.path.write_bytes(content + content[:cut])
        assert len(book.releases()) == 1
    assert book.reserve(TWO, ONE, {}).number == 2
    assert book.path.read_bytes().startswith(content)
    assert [one.number for one in book.releases()] == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[0], *lines[1:]],
        lambda lines: [lines[0].replace('"epsilon": 1.0', '"epsilon": 0.1'), *lines[1:]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: ["{}", *lines[1:]],
        lambda lines: [*lines, "no json"],
        lambda lines: [*lines, "[1]"],
    ],
)
def test_a_damaged_ledger_releases_nothing(book, change):
    for _ in range(3):
        book.reserve(Budget(9.0), ONE, {})
    book.path.write_text("\n".join(change(book.path.read_text().splitlines())) + "\n")
    with pytest.raises(LedgerError, match=r"ledger\.jsonl, line \d: .*restore the ledger from"):
        book.reserve(Budget(9.0), ONE, {})


def test_a_ledger_that_cannot_be_written_is_named_and_nothing_is_spent(book):
    release = book.reserve(TWO, ONE, {})
    content = book.path.read_bytes()
    with limit_file_size(len(content) + 20):
        for write in (
            lambda: book.reserve(TWO, ONE, {}),
            lambda: book.close(release, books.DONE, {}),
        ):
            with pytest.raises(WriteError, match=r"ledger\.jsonl can't be written"):
                write()
            assert book.path.read_bytes() == content
    book.path.unlink()
    book.path.mkdir()
    with pytest.raises(OSError, match=r"ledger\.jsonl can't be written"):
        book.reserve(TWO, ONE, {})


# Processes -------------------------------------------------------------------------

PROGRAM = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from privcurve.releases import budget_ledger as books

    folder, moment = sys.argv[1:]
    killed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    if moment == "half":
        def torn(file, text):
            os.write(file, text[: len(text) // 2]); killed()
        books.append = torn
    if moment == "written":
        books.sync = killed
    book = books.BudgetLedger(Path(folder))
    price = books.Price(1.0, 0.0, "replace-one")
    try:
        release = book.reserve(books.Budget(2.0, 0.0), price, {})
    except books.LedgerError:
        sys.exit(3)
    if moment == "training":
        killed()
    book.close(release, "done", {})
    """
)


def run(book, moment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(book.path.parent), moment], check=False, env=os.environ
    ).returncode


@pytest.mark.parametrize(("moment", "spent"), [("half", 0), ("written", 1), ("training", 1)])
def test_a_killed_release_has_spent_nothing_or_is_in_the_ledger(book, moment, spent):
    assert run(book, moment) == -signal.SIGKILL
    assert [one.state for one in book.releases()] == [books.RESERVED] * spent
    # The process's lock ended with it; the next process reads what is spent.
    for _ in range(2 - spent):
        book.close(book.reserve(TWO, ONE, {}), books.DONE, {})
    with pytest.raises(LedgerError):
        book.reserve(TWO, ONE, {})


def test_concurrent_releases_do_not_exceed_the_budget(book):
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: run(book, "none"), range(4)))
    assert sorted(codes) == [0, 0, 3, 3]
    assert [one.state for one in book.releases()] == [books.DONE, books.DONE]


def test_a_release_waits_for_another_writer_of_the_ledger(book):
    """A release that another process has begun meanwhile counts."""
    book.reserve(TWO, Price(0.5, 0.0, REPLACE_ONE), {})
    with ThreadPoolExecutor(1) as pool:
        with lock_folder(book.path.parent):
            waits = pool.submit(book.reserve, TWO, ONE, {})
            with pytest.raises(TimeoutError):
                waits.result(timeout=0.2)
            assert len(book.releases()) == 1
        assert waits.result(timeout=30).number == 2


# Descriptions ----------------------------------------------------------------------


def test_budgets_that_a_description_may_have(write_dataset):
    plain = datasets.describe("mine").digest
    write_dataset(budget={"epsilon": 3, "delta": 1e-6})
    # A budget changes no code, so the digest stays.
    assert datasets.describe("mine").digest == plain
    budget = Budget.from_description(datasets.describe("mine").budget)
    assert budget == Budget(3.0, 1e-6, REPLACE_ONE)
    write_dataset(budget={"epsilon": 3, "neighbours": "add-remove"})
    assert Budget.from_description(datasets.describe("mine").budget) == Budget(3.0, 0.0, ADD_REMOVE)
    for wrong in ({"epsilon": 0}, {"delta": 0.1}, {"epsilon": 1, "delta": 1}, {"epsilons": 1}, 3):
        write_dataset(budget=wrong)
        with pytest.raises(DatasetError, match="budget"):
            datasets.describe("mine")


def test_a_variant_shares_the_records_and_the_budget_of_its_base(write_dataset, tmp_path):
    write_dataset(budget={"epsilon": 3})
    path = tmp_path / "resources/datasets/other.yaml"
    other = {"title": "finer", "based_on": "mine", "n_bins": 4}
    path.write_text(yaml.safe_dump(other))
    assert datasets.describe("other").records_name == "mine"
    assert datasets.describe("other").budget == {"epsilon": 3}
    path.write_text(yaml.safe_dump({**other, "budget": {"epsilon": 30}}))
    with pytest.raises(DatasetError, match="budget: the records belong to mine"):
        datasets.describe("other")
    path.write_text(yaml.safe_dump({**other, "files": {"train": {"local": "data/other.csv"}}}))
    assert datasets.describe("other").records_name == "other"
    assert not datasets.describe("other").budget


def test_guarantees_for_other_private_columns_are_not_added_up(tmp_path):
    ledger = BudgetLedger(tmp_path)
    first = Price(1.0, 0.0, PRIVATE_COLUMNS, public=("sex", "sick"))
    ledger.reserve(Budget(), first, {"learner": "brc"})
    assert ledger.releases()[0].price == first
    ledger.reserve(Budget(), first, {"learner": "brc"})
    ledger.reserve(Budget(), Price(1.0, 0.0, REPLACE_ONE), {"learner": "privgam"})
    older = BudgetLedger(tmp_path / "older")
    older.reserve(Budget(), replace(first, public=None), {"learner": "brc"})
    with pytest.raises(LedgerError, match=r"an earlier one .* columns that it does not name"):
        older.reserve(Budget(), first, {"learner": "brc"})
    with pytest.raises(LedgerError, match=r"would take age for public, but .* sex, sick: what one"):
        ledger.reserve(Budget(), replace(first, public=("age",)), {"learner": "brc"})
    assert len(ledger.releases()) == 3
