"""Constraints in small files that people write by hand: CSV or TOML."""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tensift.selection import Constraints

__all__ = ["parse_feature", "read_constraints"]

_COLUMNS = ("feature", "include", "exclude", "cost", "x", "y", "z", "group", "together")
_AXES = ("x", "y", "z")
_YES, _NO = {"1", "yes", "true", "x"}, {"0", "no", "false"}
_TOML_KEYS: dict[str, type | tuple[type, ...]] = {
    "include": list,
    "exclude": list,
    "costs": (dict, list),
    "budget": (int, float),
    "min_distance": (int, float),
    "positions": (dict, list),
    "groups": (dict, list),
    "at_least": (int, dict),
    "at_most": (int, dict),
    "together": list,
    "names": list,
}
_LARGEST = 2**26  # bytes; a file of constraints is small
_LONGEST = 80  # characters of a value in an error
_WHOLE = re.compile(r"-?[0-9]+")
_MOST_DIGITS = 18  # of an index


def read_constraints(path: str | Path, **more: Any) -> Constraints:
    r"""Read constraints from a CSV or TOML file.

    Parameters
    ----------
    path : path
        ``.csv``: a header, then one row per feature that has something to say. The column
        ``feature`` has a name, a flat index, or coordinates with spaces between them (``3 5``).
        Optional columns: ``include`` and ``exclude`` (1, yes, true or x; otherwise empty, 0, no or
        false), ``cost``, ``x``, ``y`` and ``z`` (its position), ``group`` (a label), ``together``
        (features with the same label are kept or dropped as one). If a feature has several rows,
        they must not contradict each other. Numbers such as the budget do not fit into a table;
        give them as arguments, or use TOML.

        ``.toml``: the arguments of `Constraints` as keys. Features are names, flat indices, or
        lists of coordinates; in tables, names, indices or coordinates (``"3 5"``) are the keys.
    **more
        Further arguments of `Constraints`. Features of `include`, `exclude` and `together` are
        added to those of the file. Another argument must not be in the file, unless it is equal.

    Returns
    -------
    Constraints
        Features are looked up when a selector is fitted.

    Notes
    -----
    Text is never evaluated: what a spreadsheet would run is a name, or an error where a number is
    expected. A whole number is always an index. To use names that are whole numbers, put them in
    quotes in a list of a TOML file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensift.datasets import read_constraints
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sensors.csv")
    ...     _ = path.write_text("feature,include,cost\nFz,yes,2\nCz,,0.5\n")
    ...     read_constraints(path, budget=4.0)
    Constraints(include=['Fz'], costs={'Fz': 2.0, 'Cz': 0.5}, budget=4.0)
    """
    path = Path(path)
    readers: dict[str, Callable[[Path, str], dict[str, Any]]] = {
        ".csv": _of_table,
        ".toml": _of_toml,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: constraints are read from .csv or .toml files")
    with open(path, "rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(
            f"{path}: has more than {_LARGEST} bytes, too many for a file of constraints"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not text in UTF-8; save it as such") from None
    return Constraints(**_joined(path, reader(path, text), more))


def _joined(path: Path, found: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a file and further ones."""
    for name, value in more.items():
        if value is None:
            continue
        own = found.get(name)
        if name in ("include", "exclude", "together") and own is not None:
            alone = isinstance(value, str | tuple) or not isinstance(value, Iterable)
            found[name] = [*own, *([value] if alone else value)]
        elif (
            own is None
            or Constraints(**{name: own}) == Constraints(**{name: value})
            or (isinstance(own, int | float) and isinstance(value, int | float) and own == value)
        ):
            found[name] = value
        else:
            raise ValueError(
                f"{path}: has {name} = {_shown(own)}, but {name} = {_shown(value)} is given too; "
                "give it once"
            )
    return found


class _Said:
    """What rows say about features; rows must not contradict each other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: dict[str, dict[Any, tuple[Any, int]]] = {}

    def add(self, column: str, feature: Any, value: Any, row: int) -> None:
        """Note a value of a row."""
        before, first = self._said.setdefault(column, {}).setdefault(feature, (value, row))
        if before != value:
            raise ValueError(
                f"{self._path}: rows {first} and {row} say different things about "
                f"{_shown(feature)} in the column {column!r}; keep one of them"
            )

    def of(self, column: str) -> dict[Any, Any]:
        """Return the values of a column by feature."""
        return {feature: value for feature, (value, _) in self._said.get(column, {}).items()}

    def by_label(self, column: str) -> dict[str, list[Any]]:
        """Return the features of every label in a column."""
        lists: dict[str, list[Any]] = {}
        for feature, label in self.of(column).items():
            lists.setdefault(label, []).append(feature)
        return lists


def _of_table(path: Path, text: str) -> dict[str, Any]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ValueError(f"{path}: is not a CSV file ({error})") from None
    if not rows:
        raise ValueError(f"{path}: is empty; the first line must name the columns")
    columns = [name.strip().lower() for name in rows[0]]
    _check_columns(path, columns)
    said, axes = _Said(path), [axis for axis in _AXES if axis in columns]
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            raise ValueError(
                f"{path}: row {number} has {len(cells)} cells, but the header has {len(columns)}"
            )
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        feature = _feature(path, row["feature"])
        if feature == "":
            raise ValueError(f"{path}: row {number} has no feature")
        for name in ("include", "exclude"):
            if row.get(name):
                said.add(name, feature, _yes_or_no(path, number, name, row[name]), number)
        if row.get("cost"):
            said.add("cost", feature, _number(path, number, "cost", row["cost"]), number)
        if any(row[axis] for axis in axes):
            place = [_number(path, number, axis, row[axis]) for axis in axes]
            said.add("position", feature, place, number)
        for name in ("group", "together"):
            if row.get(name):
                said.add(name, feature, row[name], number)
    given = {
        "include": [feature for feature, wanted in said.of("include").items() if wanted],
        "exclude": [feature for feature, wanted in said.of("exclude").items() if wanted],
        "costs": said.of("cost"),
        "positions": said.of("position"),
        "groups": said.by_label("group"),
        "together": list(said.by_label("together").values()),
    }
    return {name: value for name, value in given.items() if value}


def _check_columns(path: Path, columns: list[str]) -> None:
    known = ", ".join(_COLUMNS)
    if "feature" not in columns:
        raise ValueError(f"{path}: has no column 'feature'; columns are {known}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"{path}: names a column twice in its first line")
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown:
        raise ValueError(f"{path}: has the column {unknown[0]!r}; columns are {known}")


def parse_feature(text: str) -> Any:
    """Return the index or the coordinates that a text has, or else the text, which is a name.

    Parameters
    ----------
    text : str
        Whole numbers with spaces between them, or a name.

    Returns
    -------
    int, tuple of int, or str

    Examples
    --------
    >>> from tensift.datasets import parse_feature
    >>> parse_feature("12"), parse_feature("3 5"), parse_feature("Fp1")
    (12, (3, 5), 'Fp1')
    """
    parts = text.split()
    if not parts or not all(_WHOLE.fullmatch(part) for part in parts):
        return text
    if max(map(len, parts)) > _MOST_DIGITS:
        raise ValueError(f"{_shown(text)} is too large a number for a feature")
    numbers = tuple(int(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers


def _feature(path: Path, text: str) -> Any:
    try:
        return parse_feature(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _shown(value: Any) -> str:
    """A value as text, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _yes_or_no(path: Path, row: int, column: str, text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise ValueError(
            f"{path}: row {row} has {_shown(text)} in the column {column!r}; "
            "write yes or leave it empty"
        )
    return text.lower() in _YES


def _number(path: Path, row: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(
            f"{path}: row {row} has {_shown(text)} in the column {column!r}, not a number"
        )
    return value


def _of_toml(path: Path, text: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not a TOML file ({_first_line(error)})") from None
    for name, value in found.items():
        if name not in _TOML_KEYS:
            raise ValueError(
                f"{path}: has the key {_shown(name)}; keys are {', '.join(_TOML_KEYS)}"
            )
        if not isinstance(value, _TOML_KEYS[name]) or isinstance(value, bool):
            raise ValueError(f"{path}: {name} has a value of the wrong kind: {_shown(value)}")
    for name in ("include", "exclude"):
        if name in found:
            found[name] = [_from_list(one) for one in found[name]]
    if "together" in found:
        found["together"] = [_features(path, "together", unit) for unit in found["together"]]
    for name in ("costs", "positions"):
        if isinstance(found.get(name), dict):
            found[name] = _by_feature(path, name, found[name])
    if isinstance(found.get("groups"), dict):
        groups = found["groups"]
        found["groups"] = {key: _features(path, f"groups.{key}", groups[key]) for key in groups}
    return found


def _by_feature(path: Path, name: str, table: dict[str, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in table.items():
        feature = _feature(path, key)
        if feature in found:
            raise ValueError(f"{path}: {name} has the feature {_shown(feature)} twice")
        found[feature] = value
    return found


def _features(path: Path, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{path}: {name} must be a list of features, got {_shown(value)}")
    return [_from_list(one) for one in value]


def _from_list(item: Any) -> Any:
    """Return coordinates as a tuple; names and indices as they are."""
    return tuple(item) if isinstance(item, list) else item


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
