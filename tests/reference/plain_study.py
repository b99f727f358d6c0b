"""A study file in plain Python: the cells that it asks for, as config/README.md says.

Of learners and datasets it is told the public facts: the registry's table of parameters, and how
many classes, which parts and which public columns a dataset has.
"""

import itertools
import json
import math
import re
import unicodedata
from collections import Counter
from pathlib import Path

import plain_yaml
from plain_columns import check_repeats
from plain_yaml import RefusedError, check_numbers, validator_of

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/study.schema.yaml"
VALIDATOR = validator_of(SCHEMA)
PRIVATE_COLUMNS, REPLACE_ONE, CERTIFIED = "private-columns", "replace-one", "certified"
WORD = re.compile(r"[A-Za-z0-9_.-]+")
DEFAULT_OUTPUTS = ["accuracy", "selected_settings", "learning_curves"]
# What no fit has to say: the setting of a fresh training, and of one of the finalists.
SELECTED, FINALIST = "selected", "finalist"
MANY = 2000  # Splits that are more than anyone asks for, and are not written out.


def cells(data, learners, datasets, words):
    """Return the cells of a study, each as often as it is trained.

    Parameters
    ----------
    data : bytes
        The file.
    learners, datasets : mapping of str to facts
        `datasets` has `n_classes`, `has_test`, `public_label` and `all_public`.
    words : mapping of str to (needs selected settings, other output that it is made from)
        The outputs.

    Returns
    -------
    Counter of (dataset, learner, calibration, ε, δ, neighbours, share, setting, fold, repeat)

    Raises
    ------
    RefusedError
    """
    content = plain_yaml.read(data)
    if not VALIDATOR.is_valid(content):
        raise RefusedError("the schema does not allow it")
    check_numbers(content)
    if "studies" in content:
        raise RefusedError("tables of other studies")
    check_words(content)
    methods = []
    for label, spec in content["learners"].items():
        own = list(methods_of(label, spec, content, learners))
        check_telling(own, methods, content)
        methods += own
    check_outputs(content, methods, words)
    for name in content["datasets"]:
        if name not in datasets:
            raise RefusedError(f"there is no dataset {name}")
        check_dataset(content, methods, datasets[name], learners)
    partial = [method for method in methods if method["claim"] == PRIVATE_COLUMNS]
    if content.get("neighbours") == PRIVATE_COLUMNS and not partial:
        raise RefusedError("no learner offers private-columns")
    counts = Counter()
    for name in content["datasets"]:
        for method in methods:
            counts += cells_of(content, method, name, datasets[name].has_test)
    return counts


def check_words(content):
    splits, words = content.get("splits"), [key for key in ("folds", "repeats") if key in content]
    select_all = content.get("select") == "all"
    if splits is None and len(words) < 2:
        raise RefusedError("folds and repeats, or splits")
    if splits is not None:
        if words or set(splits) not in ({"holdout", "repeats"}, {"folds"}):
            raise RefusedError("splits say all, and one thing")
        if "folds" in splits and not select_all:
            raise RefusedError("splits: folds are with select: all")
    if select_all and ("finalists" in content or "metric" in content):
        raise RefusedError("nothing is selected")
    if select_all and "outputs" not in content:
        raise RefusedError("select: all needs outputs")


# Curves --------------------------------------------------------------------------------


def methods_of(label, spec, content, learners):
    """Return the curves of an entry."""
    entry = learner_of(spec["learner"], learners)
    chooses = "tune" in spec
    if chooses:
        check_tune(spec, entry)
    elif entry.name == "tuned":
        raise RefusedError("tuned has no entry of its own")
    chosen = learners["tuned"] if chooses else entry
    relation = relation_of(chosen, spec.get("neighbours"), content.get("neighbours"))
    shares = [float(share) for share in content.get("train_shares", [1])]
    check_rounding(shares)
    if not all(0 < share <= 1 for share in shares):
        raise RefusedError("a share outside (0, 1]")
    for varied in varied_of(spec):
        settings = settings_of(entry, spec, varied)
        if chooses:
            for setting in settings:
                check_public(entry, setting, REPLACE_ONE)
            axes = {name: [value] for name, value in {**spec.get("fixed", {}), **varied}.items()}
            own = {key: value for key, value in spec["tune"].items() if key != "grid"}
            settings = [
                {"learner": entry.name, "settings": {**axes, **spec["tune"]["grid"]}, **own}
            ]
            check_setting(chosen, settings[0])
        for setting in settings:
            check_public(chosen, setting, relation)
        for calibration, delta, epsilons in budgets(spec, content, chosen):
            for share in shares:
                yield {
                    "label": label,
                    "learner": chosen.name,
                    "method": entry,
                    "calibration": calibration,
                    "delta": delta,
                    "epsilons": epsilons,
                    "settings": settings,
                    "claim": relation or chosen.neighbours[0],
                    "neighbours": None if entry.neighbours[0] == relation else relation,
                    "share": share,
                    "untitled": spec.get("title", entry.title) == entry.title,
                    "title": titled(spec.get("title", entry.title), varied, share, content),
                }


def titled(title, varied, share, content):
    """Return a title with what is varied."""
    axes = {**varied, **({"train_share": share} if "train_shares" in content else {})}
    return ", ".join([title, *(f"{axis} = {varied_name(value)}" for axis, value in axes.items())])


def learner_of(name, learners):
    if name not in learners:
        raise RefusedError(f"there is no learner {name}")
    return learners[name]


def check_tune(spec, entry):
    if "grid" in spec or not spec["tune"]["grid"]:
        raise RefusedError("tune has the grid")
    certified = CERTIFIED in entry.calibrations and not entry.peer and entry.name != "tuned"
    if not certified or REPLACE_ONE not in entry.neighbours:
        raise RefusedError("tune takes certified learners")
    if set(spec.get("calibrations", [CERTIFIED])) != {CERTIFIED}:
        raise RefusedError("tune takes certified trainings")


def relation_of(entry, own, study):
    if not entry.calibrations:
        if own:
            raise RefusedError("without privacy there are no neighbours")
        offers = study == PRIVATE_COLUMNS and PRIVATE_COLUMNS in entry.neighbours
        return PRIVATE_COLUMNS if offers else None
    relation = own or study
    if relation is None or relation in entry.neighbours:
        return relation
    if own is None and relation == PRIVATE_COLUMNS and REPLACE_ONE in entry.neighbours:
        return None
    raise RefusedError(f"{relation} is not offered")


def varied_of(spec):
    """Return the combinations of what is varied."""
    vary = spec.get("vary", {})
    for axis, values in vary.items():
        names = [varied_name(value) for value in values]
        check_repeats(names)
        if not names or axis in spec.get("fixed", {}) or axis in spec.get("grid", {}):
            raise RefusedError(f"vary: {axis}")
    return [dict(zip(vary, one, strict=True)) for one in itertools.product(*vary.values())]


def varied_name(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(float(value))
    text = "none" if value is None else str(value)
    if isinstance(value, bool) or not WORD.fullmatch(text):
        raise RefusedError(f"{value!r} names no curve")
    return text


def settings_of(entry, spec, varied):
    fixed = {**spec.get("fixed", {}), **varied}
    grid = {**spec.get("grid", {}), **spec.get("tune", {}).get("grid", {})}
    if set(fixed) & set(grid) or not all(grid.values()):
        raise RefusedError("an axis is empty, or fixed too")
    settings = [
        {**fixed, **dict(zip(grid, one, strict=True))} for one in itertools.product(*grid.values())
    ]
    for setting in settings:
        check_setting(entry, setting)
    check_repeats([canonical(setting) for setting in settings])
    return settings


def check_setting(entry, setting):
    """Compare a setting with the registry's table of parameters."""
    for name, value in setting.items():
        if name not in entry.parameters or not admits(entry.parameters[name], value):
            raise RefusedError(f"{entry.name}: {name} = {value!r}")
    full = {name: parameter.default for name, parameter in entry.parameters.items()} | setting
    for name, value in setting.items():
        parameter = entry.parameters[name]
        for other, values in parameter.used_with.items():
            if value != parameter.default and full[other] not in values:
                raise RefusedError(f"{name} has no effect with {other} = {full[other]!r}")


def admits(parameter, value):
    if parameter.structure:
        return True
    if value is None:
        return parameter.default is None
    if parameter.choices:
        return isinstance(value, str) and value in parameter.choices
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        number = float(value)
    except OverflowError:
        return False
    if parameter.kind is int and not number.is_integer():
        return False
    low, high = parameter.low, parameter.high
    above = low is None or number > low or (number == low and not parameter.open_low)
    return above and (high is None or number < high or (number == high and not parameter.open_high))


def check_public(entry, setting, relation):
    if (relation or entry.neighbours[0]) == PRIVATE_COLUMNS:
        return
    for name, value in setting.items():
        if isinstance(value, str) and value in entry.parameters[name].with_public:
            raise RefusedError(f"{name} = {value} needs public columns")


def budgets(spec, content, entry):
    """Return calibrations, δ and their ε."""
    if not entry.calibrations:
        if {"calibrations", "deltas", "epsilons"} & set(spec):
            raise RefusedError("without privacy there is no budget")
        return [(None, 0.0, [math.inf])]
    epsilons = [number(one) for one in spec.get("epsilons", content.get("epsilons", []))]
    deltas = [number(one) for one in spec.get("deltas", [0])]
    if not epsilons or not all(one > 0 for one in epsilons):
        raise RefusedError("epsilons")
    check_rounding(epsilons)
    check_rounding(deltas)
    calibrations = spec.get("calibrations", [entry.calibrations[-1]])
    for calibration, delta in itertools.product(calibrations, deltas):
        offered = entry.pure if delta == 0 else entry.approximate
        if calibration not in entry.calibrations or not 0 <= delta < 1 or not offered:
            raise RefusedError(f"{calibration}, delta = {delta}")
    return [(*pair, epsilons) for pair in itertools.product(calibrations, deltas)]


def number(value):
    try:
        return float(value)
    except OverflowError:
        raise RefusedError("a number of hundreds of digits") from None


def check_telling(methods, before, content):
    """Refuse curves of one legend, names that differ in case, and ε that differ in rounding."""
    for method in methods:
        alike = [one for one in before if legend_of(one, content) == legend_of(method, content)]
        # Where neither has a title of its own, a note is enough.
        if not all(one["untitled"] and method["untitled"] for one in alike):
            raise RefusedError(f"{method['title']} is the title of two curves")
        if method["label"].casefold() in [one["label"].casefold() for one in before]:
            raise RefusedError(f"{method['label']} differs in case alone")
        for one in before:
            check_rounding(
                [*method["epsilons"], *(e for e in one["epsilons"] if e not in method["epsilons"])]
            )


def legend_of(method, content):
    kind = "rule"
    if method["calibration"] is None:
        kind = "not private"
    elif method["learner"] == "tuned":
        kind = "tuned"
    elif len(method["settings"]) > 1 and content.get("select") != "all":
        kind = "best"
    title = " ".join(unicodedata.normalize("NFC", method["title"]).split()).casefold()
    return title, method["calibration"], method["delta"], kind


def check_rounding(numbers):
    """Refuse numbers that stand twice, but for rounding."""
    for one, other in itertools.combinations(numbers, 2):
        if math.isclose(one, other, rel_tol=1e-9):
            raise RefusedError(f"{one} and {other} are one number")


# The study -----------------------------------------------------------------------------


def check_outputs(content, methods, words):
    named = [
        (one, {}) if isinstance(one, str) else next(iter(one.items()))
        for one in content.get("outputs", DEFAULT_OUTPUTS)
    ]
    for word, _ in named:
        if word not in words:
            raise RefusedError(f"there is no output {word}")
        selects, other = words[word]
        if (selects and content.get("select") == "all") or (
            other and other not in [name for name, _ in named]
        ):
            raise RefusedError(f"{word} can't be made")
    check_repeats([(options or {}).get("name", word) for word, options in named])
    curves = [options or {} for word, options in named if word == "learning_curves"]
    if content.get("figure", "mine") != "mine" and not any("name" not in one for one in curves):
        raise RefusedError("figure has no effect")
    if "finalists" in content and all(len(method["settings"]) == 1 for method in methods):
        raise RefusedError("finalists have no effect")


def check_dataset(content, methods, facts, learners):
    partial = any(method["claim"] == PRIVATE_COLUMNS for method in methods)
    if partial and (not facts.public_label or facts.all_public):
        raise RefusedError("private-columns has no meaning there")
    if facts.n_classes > 2 and not all(method["method"].multiclass for method in methods):
        raise RefusedError("for two classes")


def cells_of(content, method, dataset, has_test):
    """Return the cells of a curve on a dataset."""
    splits = content.get("splits", content)
    folds, repeats, share = (splits.get(key, 0) for key in ("folds", "repeats", "holdout"))
    folds, repeats = int(folds), int(repeats)
    if max(folds, repeats) > MANY:
        raise RefusedError("more splits than a machine has room for")
    if share:
        written = f"{float(share):g}" if len(f"{float(share):g}") < 8 else repr(float(share))
        selection = [(f"{k}@{written}", 0) for k in range(1, repeats + 1)]
        fresh = [(fold, k) for k, (fold, _) in enumerate(selection, start=1)]
    else:
        selection = [(f"{k}/{folds}", 0) for k in range(1, folds + 1)]
        fresh = [
            ("test" if has_test else selection[(k - 1) % folds][0], k)
            for k in range(1, repeats + 1)
        ]
        fresh = fresh or selection
    counts = Counter()
    for epsilon in method["epsilons"]:
        head = (dataset, method["learner"], method["calibration"], epsilon)
        budget = (*head, method["delta"], method["neighbours"], method["share"])
        texts = [canonical(setting) for setting in method["settings"]]
        if content.get("select") == "all":
            counts.update(
                (*budget, text, *split) for text, split in itertools.product(texts, fresh)
            )
            continue
        if not (share and len(texts) == 1):
            counts.update(
                (*budget, text, *split) for text, split in itertools.product(texts, selection)
            )
        counts.update((*budget, SELECTED, *split) for split in fresh)
        second = content.get("finalists")
        if second and method["calibration"] and len(texts) > 1:
            times = min(int(second["settings"]), len(texts))
            for draw, (fold, _) in itertools.product(range(int(second["draws"])), selection):
                counts[(*budget, FINALIST, fold, -draw - 1)] += times
    return counts


def canonical(value):
    """Write a setting so that equal ones are equal: sorted, and 1.0 as 1."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"))


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return int(value) if value.is_integer() else value
    return value
