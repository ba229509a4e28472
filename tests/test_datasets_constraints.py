"""Files of constraints: what they say, and what is refused."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tensift import Constraints, GeometrySelector
from tensift.datasets import parse_feature, read_constraints


@pytest.fixture
def file(tmp_path):
    def write(content, name="limits.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


TABLE = """\
Feature, include ,exclude,cost,x,y,group,together
Fz,yes,,2.5,0,1,front,
 Cz ,X,no,,,,,

3,,TRUE,0,1.5,-2e-1,back,a
"3 5",,,1,,,back,a
"a,b",no,0,,,,front,b
O1,false,,,,,,b
"""


def test_a_table(file):
    assert read_constraints(file(TABLE)) == Constraints(
        include=["Fz", "Cz"],
        exclude=[3],
        costs={"Fz": 2.5, 3: 0.0, (3, 5): 1.0},
        positions={"Fz": [0.0, 1.0], 3: [1.5, -0.2]},
        groups={"front": ["Fz", "a,b"], "back": [3, (3, 5)]},
        together=[[3, (3, 5)], ["a,b", "O1"]],
    )


TOML = """\
include = ["Fz", 3, [1, 2]]
exclude = ["450"]
budget = 12
min_distance = 1.5
at_least = 1
at_most = {front = 2, "back left" = 3}
together = [["Fz", 4], [[0, 1], 2]]
names = ["Fz", "Cz"]

[costs]
Fz = 2
"3 5" = 0.5
7 = 1

[positions]
Fz = [0, 1.5]

[groups]
front = ["Fz", 4]
"back left" = [[0, 1]]
"""


def test_toml(file):
    assert read_constraints(file(TOML, "limits.TOML")) == Constraints(
        include=["Fz", 3, (1, 2)],
        exclude=["450"],
        budget=12,
        min_distance=1.5,
        at_least=1,
        at_most={"front": 2, "back left": 3},
        together=[["Fz", 4], [(0, 1), 2]],
        names=["Fz", "Cz"],
        costs={"Fz": 2, (3, 5): 0.5, 7: 1},
        positions={"Fz": [0, 1.5]},
        groups={"front": ["Fz", 4], "back left": [(0, 1)]},
    )


def test_lists_in_toml_have_a_value_for_every_feature(file):
    content = "costs = [1, 2]\npositions = [[0, 1], [2, 3]]\ngroups = ['a', 'b']\nat_most = 1\n"
    assert read_constraints(file(content, "a.toml")) == Constraints(
        costs=[1, 2], positions=[[0, 1], [2, 3]], groups=["a", "b"], at_most=1
    )


@pytest.mark.parametrize("name", ["a.csv", "a.toml"])
def test_a_mark_at_the_beginning_and_line_ends_of_windows(file, name):
    content = "feature,cost\r\nFz,2\r\n" if name == "a.csv" else "costs = {Fz = 2.0}\r\n"
    found = read_constraints(file(b"\xef\xbb\xbf" + content.encode(), name))
    assert found == Constraints(costs={"Fz": 2.0})


def test_rows_that_say_the_same_twice(file):
    found = read_constraints(file("feature,include,cost\nFz,yes,1\nFz,x,1.0\nFz,,\n"))
    assert found == Constraints(include=["Fz"], costs={"Fz": 1.0})


def test_an_empty_table_restricts_nothing(file):
    assert read_constraints(file("feature,cost\n")) == Constraints()
    assert read_constraints(file("", "a.toml")) == Constraints()


def test_further_arguments(file):
    path = file("include = ['Fz']\nbudget = 3\ntogether = [[1, 2]]\n", "a.toml")
    assert read_constraints(path, budget=3.0, at_least=None) == read_constraints(path, budget=3.0)
    assert read_constraints(
        path, include=[2], together=[[4, 5]], exclude="Cz", min_distance=1.0
    ) == Constraints(
        include=["Fz", 2],
        budget=3,
        together=[[1, 2], [4, 5]],
        exclude="Cz",
        min_distance=1.0,
    )
    assert read_constraints(path, include="Cz").include == ["Fz", "Cz"]
    assert read_constraints(path, include=(0, 1)).include == ["Fz", (0, 1)]
    with pytest.raises(ValueError, match="has budget = 3, but budget = 4 is given too; give it"):
        read_constraints(path, budget=4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; the first line must name the columns"),
        ("name,cost\nFz,1\n", "has no column 'feature'; columns are feature, include"),
        ("feature,price\nFz,1\n", "has the column 'price'; columns are feature"),
        ("feature,cost,Cost\nFz,1,2\n", "names a column twice"),
        ("feature,cost\nFz\n", "row 2 has 1 cells, but the header has 2"),
        ("feature,cost\nFz,1,2\n", "row 2 has 3 cells, but the header has 2"),
        ("feature,cost\n\n,1\n", "row 3 has no feature"),
        ("feature,include\nFz,maybe\n", "row 2 has 'maybe' in the column 'include'; write yes"),
        ("feature,cost\nFz,cheap\n", "row 2 has 'cheap' in the column 'cost', not a number"),
        ("feature,cost\nFz,inf\n", "row 2 has 'inf' in the column 'cost', not a number"),
        ("feature,cost\nFz,1e999\n", "row 2 has '1e999' in the column 'cost', not a number"),
        ("feature,cost\nFz,=1+1\n", "row 2 has '=1.1' in the column 'cost', not a number"),
        ("feature,x,y\nFz,1,\n", "row 2 has '' in the column 'y', not a number"),
        ("feature,cost\nFz,1\nFz,2\n", "rows 2 and 3 say different things about 'Fz' in the col"),
        ("feature,include\nFz,yes\nFz,no\n", "rows 2 and 3 say different things about 'Fz'"),
        ("feature,x\n1,1\n01,2\n", "rows 2 and 3 say different things about 1 in the column 'pos"),
        ("feature,group\nFz,a\nFz,b\n", "rows 2 and 3 say different things about 'Fz'"),
        ('feature,cost\n"Fz,1\n', "is not a CSV file"),
        ("feature,cost\n" + "9" * 30 + ",1\n", "is too large a number for a feature"),
        ("feature,cost\n" + "a" * 200_000 + ",1\n", "is not a CSV file .field larger"),
        ("feature,cost\nFz," + "z" * 1000 + "\n", r"row 2 has 'z+\.\.\. in the column 'cost'"),
        (b"\xff\xfef\x00e\x00", "is not text in UTF-8; save it as such"),
        ("feature,cost\nK\xf6ln,1\n".encode("latin-1"), "is not text in UTF-8; save it as such"),
        (b"feature,cost\nFz,1\n".decode().encode("utf-16-le"), "has no column 'feature'"),
        (bytes(range(128)) * 20, "columns are feature|is not a CSV file|has no column"),
        (np.random.default_rng(0).bytes(1000), "is not text in UTF-8"),
    ],
)
def test_bad_tables(file, content, message):
    path = file(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_constraints(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < len(str(path)) + 250


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("include = [", "is not a TOML file"),
        ("a" * 10, "is not a TOML file"),
        ("budget = 1\nbudget = 2\n", "is not a TOML file"),
        ("[costs]\nFz = 1\nFz = 2\n", "is not a TOML file"),
        ("price = 3\n", "has the key 'price'; keys are include, exclude, costs"),
        ("include = 'Fz'\n", "include has a value of the wrong kind: 'Fz'"),
        ("budget = true\n", "budget has a value of the wrong kind: True"),
        ("at_least = 1.5\n", "at_least has a value of the wrong kind: 1.5"),
        ("together = ['Fz', 'Cz']\n", "together must be a list of features, got 'Fz'"),
        ("groups = {front = 'Fz'}\n", "groups.front must be a list of features, got 'Fz'"),
        ("costs = {3 = 1, '03' = 2}\n", "costs has the feature 3 twice"),
        ("costs = {" + "9" * 30 + " = 1}\n", "is too large a number for a feature"),
        ("budget = " + "9" * 5000, "is not a TOML file"),
        ("include = " + "[" * 100_000, "is not a TOML file"),
        (b"\xff\xfea\x00", "is not text in UTF-8"),
        (b"\x00\x01\x02", "is not a TOML file"),
    ],
)
def test_bad_toml(file, content, message):
    path = file(content, "limits.toml")
    with pytest.raises(ValueError, match=message) as caught:
        read_constraints(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_other_files(file, tmp_path):
    with pytest.raises(ValueError, match=r"constraints are read from .csv or .toml files"):
        read_constraints(file("feature\n", "limits.xlsx"))
    with pytest.raises(FileNotFoundError):
        read_constraints(tmp_path / "none.csv")


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.csv"
    with open(path, "wb") as stream:
        stream.truncate(2**33)
    tracemalloc.start()
    with pytest.raises(ValueError, match="bytes, too many for a file of constraints"):
        read_constraints(path)
    assert tracemalloc.get_traced_memory()[1] < 2**28
    tracemalloc.stop()


def test_formulas_are_names(file):
    found = read_constraints(file("feature,include\n=cmd|' /C calc'!A0,yes\n@SUM(1),yes\n"))
    assert found.include == ["=cmd|' /C calc'!A0", "@SUM(1)"]
    assert parse_feature("=1+1") == "=1+1"


def test_numbers_of_other_scripts_are_names():
    assert parse_feature("٣") == "٣"
    assert parse_feature("1 b") == "1 b"
    assert parse_feature(" 1   -2 ") == (1, -2)


def test_the_same_feature_by_two_names_is_refused_when_fitted(file):
    X = np.random.default_rng(0).normal(size=(20, 4))
    constraints = read_constraints(file("feature,cost\nx1,2\n1,3\n"), budget=3)
    with pytest.raises(ValueError, match="costs has the feature 'x1' twice, as 'x1' and as 1"):
        GeometrySelector(2, constraints=constraints).fit(X)


def test_positions_by_feature(file):
    X = np.random.default_rng(0).normal(size=(20, 4))
    table = "feature,x,y\nx0,0,0\nx1,0,1\nx2,5,0\nx3,5,1\n"
    whole = GeometrySelector(2, constraints=read_constraints(file(table), min_distance=2)).fit(X)
    same = Constraints(positions=[[0, 0], [0, 1], [5, 0], [5, 1]], min_distance=2)
    assert_array_equal(whole.order_, GeometrySelector(2, constraints=same).fit(X).order_)
    some = file("feature,x,y\nx0,0,0\nx2,5,0\n")
    GeometrySelector(2, constraints=read_constraints(some)).fit(X)
    message = "positions has none for the feature 'x1' and 1 others, but min_distance needs one"
    with pytest.raises(ValueError, match=message):
        GeometrySelector(2, constraints=read_constraints(some, min_distance=1)).fit(X)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({0: [1, 2], 1: [1]}, "positions has 1 coordinates for the feature 'x1', but 2 for"),
        ({0: "here"}, "positions has 'here' for the feature 'x0'; give a list of finite"),
        ({0: [np.nan]}, "for the feature 'x0'; give a list of finite coordinates"),
        ({0: []}, "for the feature 'x0'; give a list of finite coordinates"),
        ({0: 1, "x0": 2}, "positions has the feature 'x0' twice"),
        ({"y": 1}, "positions has the name 'y', which no feature has"),
        ({}, "positions has none for the feature 'x0' and 3 others"),
    ],
)
def test_bad_positions_by_feature(positions, message):
    with pytest.raises(ValueError, match=message):
        Constraints(positions=positions, min_distance=1).resolve((4,), [f"x{j}" for j in range(4)])
