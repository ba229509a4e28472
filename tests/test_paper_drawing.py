"""One look for a method in all figures of the paper."""

from itertools import combinations

from tensift.paper._drawing import cell_text, method_style, methods_of_the_paper
from tensift.paper._printed import printed_metrics
from tensift.paper._study import Study, contenders


def test_no_two_methods_look_alike():
    styles = {one.label: method_style(one.label) for one in contenders()}
    for one, other in combinations(styles, 2):
        assert styles[one]["color"] != styles[other]["color"], (one, other)
        assert styles[one]["marker"] != styles[other]["marker"], (one, other)


def test_ours_is_bold_and_on_top():
    others = [method_style(one.label) for one in contenders() if one.label != "STPCA-MP"]
    ours = method_style("STPCA-MP")
    assert all(ours["linewidth"] > other["linewidth"] for other in others)
    assert all(ours["zorder"] > other["zorder"] for other in others)


def test_a_variant_has_the_colour_of_its_method():
    plain, variant = method_style("NLGMS"), method_style("NLGMS, released program")
    assert plain["color"] == variant["color"]
    assert plain["linestyle"] != variant["linestyle"]


def test_the_methods_of_the_paper_are_those_it_prints_numbers_of():
    labels = [one.label for one in methods_of_the_paper(Study(()))]
    printed = [one.label for one in contenders() if printed_metrics(one.paper_name, "JAFFE")]
    assert sorted(labels) == sorted(printed)
    assert len(labels) == 9
    assert labels[0] == "STPCA-MP"


def test_methods_are_restricted_to_the_study_s():
    study = Study((), methods=("MSPCA", "NDFS", "RandomSelector"))
    labels = [one.label for one in methods_of_the_paper(study, "random selection")]
    assert labels == ["MSPCA", "random selection"]


def test_a_cell_is_named_by_its_grid_alone():
    ours = next(one for one in contenders() if one.label == "STPCA-MP")
    assert cell_text(ours, (("eta", 1.0), ("lam", 0.01), ("orientation", 1))) == "eta=1, lam=0.01"
