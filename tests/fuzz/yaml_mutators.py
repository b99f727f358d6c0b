"""Mutations of any YAML file: its content and its spelling.

Each function returns a description of the change and the names that a message may use for it, or
None if nothing changed.
"""

import copy
import math
import re
import unicodedata

ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 1.5, -0.5, 1e308, -1e308, 10**20, 10**400, 5e-324, math.nan),
    *(math.inf, -math.inf, "", " ", "x", "é", "12", "0.5", "nan", "inf", ".", "yes", [], {}, [1]),
    *(["x"], [1, 2], [None], {"a": 1}, [[1, 2]], "2020-01-01", "x" * 300, "a{1..3}", "a{3..1}"),
    *("a{0..99999999}", "../x", "x/y", "*", "?", "other", "%d", "\n"),
]
SPELLINGS = [
    *("0150", "1_000", "12:30", "yes", "no", "On", "off", "~", "null", "1e5", "0x1F", "0b11"),
    *("0o17", "+5", "1.0", "1.10", "-.5", "5.", ".inf", "-.INF", ".nan", ".NaN", "2020-1-1"),
    *("2020-02-30", "2020-01-01", "2020-01-01 12:00:00", "2020-01-01T12:00:00Z", "'5'", '"0150"'),
    *("!!str 5", "!!float 5", "!!int '7'", "!!binary aGk=", "!!python/name:os.system", "&a 5"),
    *("*a", "@x", "`x`", "[1, 2", "{a: 1", "- x", "a: b", "? x", "|", ">", "# gone", "%x", "'open"),
    *("5 # said", "=", "<<"),
]
# Messages of YAML about invalid text: they name the place where the parser stopped.
BROKEN = ("[1, 2", "{a: 1", "'open", "? x", "|", ">", "a: b", "- x", "*a", "%x", "@x", "`x`")
CONTAINERS = ("columns", "files", "train", "test")


def places(content, path=()):
    """Return the paths of all values in a content, outer ones first."""
    entries = []
    if isinstance(content, dict):
        entries = list(content)
    elif isinstance(content, list):
        entries = list(range(len(content)))
    steps = []
    for key in entries:
        steps += [(*path, key), *places(content[key], (*path, key))]
    return steps


def at(content, path):
    """Return the value at a path."""
    for step in path:
        content = content[step]
    return content


def called(content, path):
    """Return the names that a message may use for a path: its keys, and the column's name."""
    names = [str(step) for step in path if isinstance(step, str) and step not in CONTAINERS]
    for end in range(len(path)):
        one = at(content, path[:end])
        if isinstance(one, dict) and "name" in one:
            names.append(str(one["name"]).partition("{")[0])
    # A message may name one entry of a list in the singular.
    names += [name.removesuffix("s") for name in names if len(name) > 4]
    return names or [str(step) for step in path]


def written(value):
    """Return the texts that a message may show for a value."""
    if isinstance(value, (dict, list)):
        entries = [*value, *value.values()] if isinstance(value, dict) else value
        return [text for entry in entries for text in written(entry)]
    # A message shows the first letters of a long text.
    return [text[:20] for text in (str(value), repr(value)) if len(text) > 1]


def misspell_key(rng, content):
    """Misspell a key."""
    paths = [path for path in places(content) if isinstance(path[-1], str)]
    path = rng.choice(paths)
    parent, key = at(content, path[:-1]), path[-1]
    place = rng.randrange(len(key)) if key else 0
    start, letter, end = key[:place], key[place : place + 1], key[place + 1 :]
    typos = [start + end, start + 2 * letter + end, start + end[:1] + letter + end[1:]]
    typos += [key.upper(), key.capitalize(), key + " ", key + "s", key.replace("_", "-")]
    typo = rng.choice(typos)
    if typo == key or typo in parent:
        return None
    names = [*called(content, path), typo]
    _rename(parent, key, typo)
    return f"the key {'.'.join(map(str, path))} is spelt {typo!r}", names


def _rename(parent, key, other):
    entries = [(other if one == key else one, value) for one, value in parent.items()]
    parent.clear()
    parent.update(entries)


def drop(rng, content):
    """Delete a key or an entry."""
    path = rng.choice(places(content))
    gone = at(content, path)
    names = [*called(content, path), *written(gone)]
    if isinstance(gone, dict) and "name" in gone:
        names.append(gone["name"])
    del at(content, path[:-1])[path[-1]]
    return f"{'.'.join(map(str, path))} is left out", names


def retype(rng, content):
    """Replace a value by an unusual one, or by another type."""
    path = rng.choice(places(content))
    old = at(content, path)
    others = [rng.choice(ODD_VALUES), rng.choice(ODD_VALUES), [old], str(old), {"a": old}]
    others += [_number(old), float(old) if isinstance(old, int) else old]
    new = copy.deepcopy(rng.choice(others))
    if repr(new) == repr(old):
        return None
    names = [*called(content, path), *written(old), *written(new)]
    at(content, path[:-1])[path[-1]] = new
    shown = repr(new) if len(repr(new)) < 60 else f"{repr(new)[:40]}… ({len(repr(new))} signs)"
    return f"{'.'.join(map(str, path))} is {shown}", names


def _number(value):
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return value


def nudge(rng, content):
    """Change a number a little; valid numbers usually stay valid."""
    paths = [p for p in places(content) if type(at(content, p)) in (int, float)]
    if not paths:
        return None
    path = rng.choice(paths)
    old = at(content, path)
    new = rng.choice([old + 1, old - 1, old * 2, old / 2, old + 0.25, -old, int(old) + 3])
    names = [*called(content, path), *written(old), *written(new)]
    at(content, path[:-1])[path[-1]] = new
    return f"{'.'.join(map(str, path))} is {new} in place of {old}", names


def repeat(rng, content):
    """Repeat an entry of a list."""
    paths = [p for p in places(content) if isinstance(at(content, p[:-1]), list)]
    if not paths:
        return None
    path = rng.choice(paths)
    parent, entry = at(content, path[:-1]), at(content, path)
    twin = copy.deepcopy(entry)
    if isinstance(entry, (int, float)) and rng.random() < 0.3:
        twin = float(entry) if isinstance(entry, int) else str(entry)
    if isinstance(entry, str) and rng.random() < 0.3:
        twin = rng.choice([f" {entry}", entry.upper(), unicodedata.normalize("NFD", entry)])
    names = [*called(content, path), *written(entry)]
    if isinstance(entry, dict):
        names += [str(value) for value in entry.values()]
    parent.insert(rng.randrange(len(parent) + 1), twin)
    return f"{'.'.join(map(str, path))} stands twice, as {str(twin)[:80]!r} too", names


def swap(rng, content):
    """Reorder the entries of a list or the keys of a mapping."""
    paths = [p for p in [(), *places(content)] if isinstance(at(content, p), (list, dict))]
    path = rng.choice(paths)
    one = at(content, path)
    names = called(content, path)
    if isinstance(one, list):
        names += [text for entry in one for text in written(entry)]
        rng.shuffle(one)
    else:
        entries = list(one.items())
        rng.shuffle(entries)
        one.clear()
        one.update(entries)
    return f"{'.'.join(map(str, path)) or 'all'} is in another order", names


def move(rng, content):
    """Move a key to another place, where it may be invalid."""
    mappings = [p for p in [(), *places(content)] if isinstance(at(content, p), dict)]
    path = rng.choice([p for p in places(content) if isinstance(p[-1], str)])
    target = rng.choice(mappings)
    if path[:-1] == target or target[: len(path)] == path:
        return None
    value = at(content, path)
    here = at(content, target)
    names = [*called(content, path), *called(content, (*target, path[-1])), *written(value)]
    if rng.random() < 0.5:
        del at(content, path[:-1])[path[-1]]
    here[path[-1]] = copy.deepcopy(value)
    return f"{'.'.join(map(str, path))} stands in {'.'.join(map(str, target)) or 'the top'}", names


OF_CONTENT = [*(misspell_key, drop, retype, retype, retype, nudge, repeat, swap, move)]

# A line of a dumped file: blanks, "- ", "key:", and a value.
_LINE = re.compile(r"^(?P<head>\s*(?:- )*(?:[^\s:'\"][^:'\"]*:(?= |$))?)(?P<value>.*)$")


def respell(rng, text):
    """Write a value or a key in another notation."""
    lines = text.splitlines()
    number = rng.randrange(len(lines) or 1)
    match = _LINE.match(lines[number])
    assert match
    spelling = rng.choice(SPELLINGS)
    head, value = match["head"], match["value"]
    key = head.strip(" -:")
    if key and rng.random() < 0.15:
        head, key = head.replace(key, spelling), spelling
    else:
        value = " " * bool(head.strip() and not head.endswith(" ")) + spelling
    lines[number] = head + value
    old = match["value"].strip().strip("'")
    names = [*near(number), spelling, _bare(spelling), *filter(None, [old, key])]
    names += above(lines, number)
    names += ["mine.yaml is not valid YAML"] if spelling in BROKEN else []
    return "\n".join(lines) + "\n", f"line {number + 1} is {lines[number]!r}", names


def above(lines, number):
    """Return the keys above a line, and the name of its column."""
    before = lines[: number + 1]
    keys = [line.strip(" -").partition(":")[0].strip("'") for line in before[-7:]]
    names = [line.partition("name: ")[2] for line in before if "- name: " in line]
    return [word for word in [*keys, *names[-1:]] if word]


def near(number):
    """Return the names of a line that YAML cannot read; YAML may name a later line."""
    return [f"line {number + k}" for k in (1, 2, 3)]


def _bare(spelling):
    tagged = spelling.startswith("!!")
    return spelling.split()[-1].strip("'\"") if tagged else spelling.strip("'\"+")


def line_twice(rng, text):
    """Repeat a line."""
    lines = text.splitlines()
    number = rng.randrange(len(lines) or 1)
    lines.insert(number + 1, lines[number])
    key = lines[number].strip(" -").partition(":")[0]
    names = [*near(number), f"lines {number + 1}", key, key.strip("'"), *above(lines, number)]
    return "\n".join(lines) + "\n", f"line {number + 1}, {lines[number]!r}, stands twice", names


def tear(rng, text):
    """Damage the file as a whole."""
    lines = text.splitlines(keepends=True)
    number = rng.randrange(len(lines) or 1)
    line = lines[number]
    key = line.strip(" -\n").partition(":")[0].strip("'")
    how = rng.choice(["tab", "cut", "indent", "alias", "again", "empty", "list", "merge", "crlf"])
    if how == "tab":
        lines[number] = "\t" + line
    elif how == "cut":
        place = rng.randrange(len(text))
        lines, number = [text[:place]], text[:place].count("\n")
        key = text[text.rfind("\n", 0, place) + 1 : place].strip(" -").partition(":")[0] or key
    elif how == "indent":
        lines[number] = " " + line
    elif how == "alias":
        lines = ["title: &me\n", "  a: *me\n", *lines]
        key = "title"
    elif how == "again":
        lines = [*lines, "---\n", *lines]
    elif how == "empty":
        lines = [rng.choice(["", "\n", "# nothing\n", "---\n", "~\n"])]
    elif how == "list":
        lines = [f"- {line}" if line[0] not in " -" else f"  {line}" for line in lines]
    elif how == "merge":
        lines = [*lines, "<<: {title: a}\n", "<<: {title: b}\n"]
    else:
        lines = [one.replace("\n", "\r\n") for one in lines]
    return "".join(lines), f"{how} at line {number + 1}", [*near(number), key, "mine.yaml"]


OF_TEXT = [respell, respell, respell, line_twice, tear]
