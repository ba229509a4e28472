"""The options of commands are those of the library: names, defaults, choices and help."""

import argparse
import inspect
import shlex

import numpy as np
import pytest

from tensift import ExactSolver, PaperSolver, STPCASelector, compare_selectors
from tensift.cli import main
from tensift.cli._compare import add_parser as add_compare
from tensift.cli._method import add_method_arguments, make_selector
from tensift.cli._options import add_option, describe_parameters
from tensift.cli._plan import add_parser as add_plan
from tensift.datasets import TensorDataset

DATA = TensorDataset(np.random.default_rng(0).normal(size=(8, 4, 5)))


def parameters(text=""):
    """The parameters of the selector that options ask for."""
    parser = argparse.ArgumentParser()
    add_method_arguments(parser)
    arguments = parser.parse_args(shlex.split(text))
    arguments.input = "x.npy"
    found = make_selector(arguments, DATA, verbose=False).get_params(deep=False)
    return {name: found[name] for name in found if name not in ("verbose", "feature_shape")}


def help_of(parser):
    """Help texts by parameter, in one line each."""
    return {action.dest: action.help for action in parser._actions}


def command(add_parser, name):
    commands = argparse.ArgumentParser().add_subparsers()
    add_parser(commands)
    return commands.choices[name]


def test_every_parameter_is_an_option_with_the_same_default():
    expected = {
        name: parameter.default
        for name, parameter in inspect.signature(STPCASelector).parameters.items()
        if name not in ("verbose", "feature_shape")
    }
    assert parameters() == expected


@pytest.mark.parametrize("name", ["selection", "penalty_units", "score_by", "solver"])
def test_choices_are_those_that_the_estimator_accepts(name):
    parser = argparse.ArgumentParser()
    add_option(parser, STPCASelector, name)
    (choices,) = (action.choices for action in parser._actions if action.dest == name)
    allowed = STPCASelector._parameter_constraints[name][0].options
    assert set(choices) == allowed
    assert choices[0] == inspect.signature(STPCASelector).parameters[name].default


class Kettle:
    """Boil water.

    Parameters
    ----------
    heat : float, default=2.5
        How hot it gets (see `Stove`). At most 100 %. Nothing after this is in the help.
    lid, spout : int, default=1
        Parts of the ``kettle``.
    whistle : {"loud", "soft"}, default="loud"
        What you hear. It depends. "loud" wakes the house. "soft" does not. Both are sounds.

    Attributes
    ----------
    water_ : float
        What is left.
    """

    def __init__(self, heat=2.5, lid=1, spout=1, whistle="loud"):
        pass


def test_texts_come_from_the_docstring():
    assert describe_parameters(Kettle) == {
        "heat": "how hot it gets. At most 100 %%",
        "lid": "lid, spout: parts of the kettle",
        "spout": "lid, spout: parts of the kettle",
        "whistle": 'what you hear. It depends. "loud" wakes the house. "soft" does not',
    }


def test_changing_a_docstring_changes_the_help(monkeypatch, capsys):
    doc = STPCASelector.__doc__
    first = "How many features to keep, or which share of them."
    assert first in doc
    monkeypatch.setattr(STPCASelector, "__doc__", doc.replace(first, "Zebras to keep."))
    assert main(["select", "--help"]) == 0
    assert "zebras to keep" in capsys.readouterr().out


def test_every_option_has_a_help():
    for add_parser, name in ((add_compare, "compare"), (add_plan, "plan")):
        assert all(help_of(command(add_parser, name)).values())
    parser = argparse.ArgumentParser()
    add_method_arguments(parser)
    assert all(help_of(parser).values())
    assert help_of(parser)["lam"].endswith("(default: auto)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--solver paper", "paper"),
        ("--solver exact", "exact"),
        ("--tol 1e-8", ExactSolver(tol=1e-8)),
        ("--max-iter 7", ExactSolver(max_iter=7)),
        ("--solver paper --tol 0", PaperSolver(tol=0.0)),
        ("--solver paper --max-iter 7", PaperSolver(max_iter=7)),
        ("--solver paper --convention paper", PaperSolver(convention="paper")),
        ("--solver paper --stopping relative", PaperSolver(stopping="relative")),
    ],
)
def test_settings_of_the_solver(text, expected):
    found = parameters(text)["solver"]
    assert type(found) is type(expected)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found.get_params() == expected.get_params()


@pytest.mark.parametrize("option", ["--convention paper", "--stopping relative"])
def test_settings_of_the_other_solver_are_refused(option):
    name = option.split()[0]
    words = f"^{name} works only with --solver paper; add that, or leave out {name}$"
    with pytest.raises(ValueError, match=words):
        parameters(option)


def test_defaults_of_a_comparison_are_those_of_the_function():
    parser = command(add_compare, "compare")
    arguments = vars(parser.parse_args(["x.npy", "-k", "3"]))
    shared = inspect.signature(compare_selectors).parameters.keys() & arguments.keys()
    shared -= {"n_features_to_select", "feature_mode", "labels", "groups"}  # or of the file
    assert len(shared) == 11
    for name in shared:
        assert arguments[name] == inspect.signature(compare_selectors).parameters[name].default


def test_a_plan_is_for_the_selectors_own_solver():
    arguments = command(add_plan, "plan").parse_args([])
    assert arguments.solver == inspect.signature(STPCASelector).parameters["solver"].default
