"""The parameters of an operator by its public schema, and what it does with each.

`aten::mm(self, mat2)`: tensors are read. `out!` is written, `self&` read and written, and of `cache~` only a part is
touched, which the formula counts. Tensors behind the last parameter were given as `out=`; with `...` they are read,
with `...~` they do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.operators.work.call import Call, Count
from rocm_perf.model.torch_call import Argument

_SIGNATURE = re.compile(r"([\w:*]+)\(([^)]*)\)")
_WRITTEN, _UPDATED, _PARTLY = "!", "&", "~"
_ROLES = _WRITTEN + _UPDATED + _PARTLY
_REST, _REST_PARTLY = "...", "...~"
# Numbers, flags and types: a tensor in their place means that another overload was called, or `out=` was given.
_NO_TENSORS = frozenset((
    *("dim", "keepdim", "dtype", "out_dtype", "unbiased", "correction", "half_to_float", "descending", "stable"),
    *("rounding_mode", "training", "beta", "alpha"),
))  # fmt: skip


class Formula(msgspec.Struct, frozen=True):
    """How the work of the operators of one name is counted."""

    operator: str  # may end in `*`
    parameters: tuple[str, ...]
    count: Count
    rest: str = ""  # what tensors behind the parameters are: `...`, `...~`, or results

    def in_place(self) -> Formula:
        """The formula of the operator that writes its first argument: `add_` for `add`."""
        first = self.parameters[0].rstrip(_ROLES)
        return replace(self, parameters=(first + _UPDATED, *self.parameters[1:]))

    def named(self, arguments: Sequence[Argument]) -> dict[str, Argument]:
        """The arguments that were given, by the names of their parameters."""
        names = [parameter.rstrip(_ROLES) for parameter in self.parameters]
        return {
            name: argument
            for name, argument in zip(names, arguments, strict=False)
            if argument.kind != "none"
        }

    def fits(self, arguments: Sequence[Argument]) -> bool:
        """Return whether no tensor stands where the operator takes none."""
        return not any(
            argument.kind == "tensor" and parameter in _NO_TENSORS
            for parameter, argument in zip(self.parameters, arguments, strict=False)
        )

    def moved_bytes(self, arguments: Sequence[Argument], call: Call, output_bytes: int) -> int:
        """The bytes of the arguments as the parameters say, and of the results, unless they are among the arguments."""
        total, writes = 0, False
        for parameter in self.parameters:
            role = parameter[-1]
            times = {_WRITTEN: 1, _UPDATED: 2, _PARTLY: 0}.get(role, 1)
            total += times * call.size(parameter.rstrip(_ROLES)) if times else 0
            writes |= role in (_WRITTEN, _UPDATED) and parameter[:-1] in call.arguments
        if self.rest == _REST_PARTLY:
            return total + (0 if writes else output_bytes)
        rest = Call(
            {str(place): argument for place, argument in enumerate(arguments[len(self.parameters) :])}
        )
        beyond = sum(rest.size(name) for name in rest.arguments)
        results_given = writes or (beyond and not self.rest)
        return total + beyond + (0 if results_given else output_bytes)


def formula(signature: str, count: Count) -> Formula:
    """The formula of the operator of a signature."""
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"{signature!r} is not a signature")
    words = tuple(word.strip() for word in match[2].split(",") if word.strip())
    rest = words[-1] if words and words[-1] in (_REST, _REST_PARTLY) else ""
    return Formula(match[1], words[:-1] if rest else words, count, rest)


def formulas(count: Count, *signatures: str) -> tuple[Formula, ...]:
    """The operators that one formula counts."""
    return tuple(formula(signature, count) for signature in signatures)
