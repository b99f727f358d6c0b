"""Find mutable variables outside of a kernel, where it could store exact values."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from privcurve.privacy.refused import SealedError

# Types with immutable values.
PLAIN = frozenset({int, float, bool, str, type(None)})

_FIXED = (np.generic, ModuleType, range, np.dtype, frozenset, MappingProxyType)

_STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR")


def can_change(value: Any) -> bool:
    """Return whether a value is mutable; functions, types and modules count as immutable."""
    if isinstance(value, tuple):
        return any(map(can_change, value))
    if isinstance(value, np.ndarray):
        return value.flags.writeable
    fixed = callable(value) or isinstance(value, _FIXED)
    return not fixed and type(value) not in PLAIN


def steps_outside(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the bytecode instructions that read a global, or write a global or an attribute."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", *_STORES):
            yield step
        elif isinstance(step.argval, CodeType):
            yield from steps_outside(step.argval)


def refuse_outside(learner: str, loop: FunctionType, step: dis.Instruction) -> None:
    """Refuse a kernel that sets an attribute or a global, or that reads a mutable global."""
    remedy = "return it; pass what is read as an argument, or make it a tuple or a read-only array"
    if step.opname in _STORES:
        raise SealedError(
            learner, f"kernel {loop.__name__} sets {step.argval} outside of it", remedy
        )
    if can_change(loop.__globals__.get(step.argval)):
        what = f"kernel {loop.__name__} reads {step.argval} of its module, which is mutable"
        raise SealedError(learner, what, remedy)
