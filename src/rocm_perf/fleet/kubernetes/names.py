"""Names that Kubernetes takes, and values that it leaves as they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

LONGEST_NAME = (
    50  # of a Job: its pods are called NAME-INDEX, the helper NAME-results, in at most 63 characters
)
_NOT_IN_A_LABEL = re.compile(r"[^a-z0-9]+")
_NOT_IN_A_KEY = re.compile(r"[^A-Za-z0-9._-]+")
_DIGITS = 8  # of a hash


def dns_label(text: str, prefix: str = "rocm-perf") -> str:
    """A DNS label that begins with a letter, as Services need it. What has to be changed is told apart by a hash."""
    label = f"{prefix}-{_NOT_IN_A_LABEL.sub('-', text.lower()).strip('-')}".rstrip("-")
    if label == f"{prefix}-{text}" and len(label) <= LONGEST_NAME:
        return label
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{label[: LONGEST_NAME - _DIGITS - 1].rstrip('-')}-{digest}"


def data_key(name: str, taken: Collection[str]) -> str:
    """A key of a ConfigMap for a file of that name, different from those that are taken."""
    plain = _NOT_IN_A_KEY.sub("-", name).lstrip(".")[-200:] or "file"
    candidates = (plain, *(f"{number}-{plain}" for number in range(2, len(taken) + 3)))
    return next(key for key in candidates if key not in taken)


def unexpanded(value: str) -> str:
    """The value of a variable as Kubernetes has to be given it: it would replace $(NAME) and halve $$."""
    return value.replace("$", "$$")
