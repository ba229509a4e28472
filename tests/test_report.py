"""Reports: what is in the page, against the selection itself; that it is safe, small, complete."""

import base64
import hashlib
import importlib.resources
import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import tensift.report
from tensift import (
    ExactSolver,
    PaperSolver,
    STPCASelector,
    collect_moments,
    compare_selectors,
)
from tensift.cli import main
from tensift.datasets import TensorDataset, load_digits, make_orbit
from tensift.metrics import alignment, neighbours_kept
from tensift.report import Source, make_alternatives, make_report, write_report
from tensift.rivals import NDFS, RNE, SPCAPSD, VarianceSelector
from tensift.selection import suggest_count
from tensift.sources import even_subsample

RNG = np.random.default_rng(5)
DIGITS = load_digits()
HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="hacked=1">&amp;\u2028'


@pytest.fixture(scope="module")
def selector():
    return STPCASelector(20).fit(DIGITS.data)


def content_of(page):
    (text,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page)
    return json.loads(text)


def decoded(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype)


def shown_samples(content):
    samples = content["samples"]
    values = decoded(samples["values"], "u1")
    return values.reshape(len(samples["indices"]), *samples["shape"])


# How many features


def test_suggestion_is_the_one_rule(selector):
    suggestion = content_of(make_report(selector, DIGITS))["suggestion"]
    found = suggest_count(DIGITS.data)
    assert suggestion["count"] == found.count
    assert suggestion["title"] == f"Suggested: {found.count}"
    assert suggestion["reason"].lower() == f"{found.reason}.".lower()
    np.testing.assert_allclose(suggestion["curve"], found.curve, rtol=1e-5)
    np.testing.assert_allclose(suggestion["spread"], found.spread, rtol=1e-5)
    assert suggestion["structured"] == found.n_structured


def test_suggestion_of_channels_is_that_of_auto():
    orbit = make_orbit(random_state=0)
    pages = [
        content_of(make_report(STPCASelector(k, feature_mode=0).fit(orbit.data), orbit))
        for k in ("auto", 5)
    ]
    assert pages[0]["suggestion"] == pages[1]["suggestion"]
    assert pages[0]["suggestion"]["count"] == pages[0]["views"][0]["fitted"]


@pytest.fixture
def counted(monkeypatch):
    """The shapes of the samples from which the report computes the number of features."""
    seen = []

    def count(rows, mode, constraints=None):
        seen.append(rows.shape)
        return suggest_count(rows, mode, constraints)

    monkeypatch.setattr("tensift.report._suggestion.suggest_count", count)
    return seen


def test_suggestion_of_a_selector_is_not_computed_again(counted):
    own = STPCASelector("auto").fit(DIGITS.data)
    suggestion = content_of(make_report(own, DIGITS.data[:30]))["suggestion"]
    assert suggestion["count"] == own.suggested_count_.count == own.n_features_
    assert counted == []


def test_suggestion_is_computed_once_from_evenly_spaced_samples(counted):
    X = RNG.normal(size=(9000, 3, 2))
    fitted = VarianceSelector(2).fit(X)
    found = compare_selectors(X[:40], [], 2, n_resamples=2)
    make_report(fitted, X, alternatives={"a": fitted, "b": fitted}, comparison=found)
    assert counted == [even_subsample(X).shape]
    assert counted[0][0] <= 2048


def test_samples_that_travel_with_moments_give_the_suggestion(counted):
    fitted = STPCASelector(20).fit(collect_moments(DIGITS.data))
    suggestion = content_of(make_report(fitted, DIGITS.data[:3]))["suggestion"]
    assert counted == [even_subsample(DIGITS.data).shape]
    assert suggestion["count"] == suggest_count(DIGITS.data).count


def test_without_samples_there_is_no_suggestion(counted):
    moments = collect_moments(DIGITS.data[:50])
    moments.merge(collect_moments(DIGITS.data[50:]))
    assert moments.subsample is None
    fitted = STPCASelector(20, selection="top").fit(moments)
    suggestion = content_of(make_report(fitted, DIGITS.data[:3]))["suggestion"]
    assert (suggestion["count"], suggestion["title"]) == (None, "No suggestion")
    assert "the report has 3 samples" in suggestion["reason"]
    assert suggestion["curve"] == suggestion["spread"] == []
    assert counted == []


@pytest.mark.parametrize("k", [5, "auto"])
def test_noise_has_no_structure(k):
    X = np.random.default_rng(3).normal(size=(80, 9, 4))
    suggestion = content_of(make_report(VarianceSelector(k).fit(X), X))["suggestion"]
    assert (suggestion["count"], suggestion["title"]) == (None, "No structure")
    assert suggestion["reason"].startswith("No structure: ")
    assert suggestion["curve"] == []


# By which rule


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("top", ["largest scores", "its own score"]),
        ("geometry", ["similar samples agree", "one at a time"]),
        ("reconstruct", ["others can be predicted best", "one at a time"]),
    ],
)
def test_page_says_by_which_rule_features_were_selected(rule, words):
    X = DIGITS.data[:60]
    fitted = VarianceSelector(5).fit(X).set_params(selection=rule)
    (view,) = content_of(make_report(fitted, X))["views"]
    first, second = view["rule"].removesuffix(".").split(". ")
    assert words[0] in first
    assert words[1] in second
    assert view["by_score"] == (rule == "top")
    assert (view["caveat"] is None) == (rule == "top")


def test_a_rule_of_somebody_else_is_named():
    X = DIGITS.data[:60]
    fitted = VarianceSelector(5).fit(X).set_params(selection="loudest")
    (view,) = content_of(make_report(fitted, X))["views"]
    assert view["rule"] == "The kept features were chosen by the rule 'loudest'."


def test_reports_of_select_and_compare_order_all_features_alike(here):
    run = ["--quiet", "--no-figure", "--report"]
    assert main(["select", "x.npy", "-k", "9", *run]) == 0
    options = ["--methods", "stpca", "--resamples", "2"]
    assert main(["compare", "x.npy", "-k", "9", *options, *run]) == 0
    one, other = (
        content_of((here / folder / "report.html").read_text(encoding="utf-8"))
        for folder in ("x.npy-tensift", "x.npy-compare")
    )
    assert one["suggestion"] == other["suggestion"]
    assert other["views"][0]["name"] == "STPCASelector"
    for part in ("ranking", "scores", "rule", "by_score", "fitted", "zeros"):
        assert one["views"][0][part] == other["views"][0][part], part


# What is in the page


def test_page_holds_the_selection(selector):
    content = content_of(make_report(selector, DIGITS))
    (view,) = content["views"]
    scores = decoded(view["scores"]["values"], "<f4") * view["scores"]["scale"]
    np.testing.assert_allclose(scores, selector.scores_.ravel(), rtol=1e-6)
    np.testing.assert_array_equal(decoded(view["ranking"]["values"], "<u2"), selector.order_)
    assert view["fitted"] == 20
    assert view["zeros"] == np.count_nonzero(selector.scores_ == 0)
    assert content["title"] == DIGITS.name
    assert content["geometry"]["titles"] == list(DIGITS.dims)
    assert content["samples"]["total"] == 1797


def test_samples_are_those_of_the_data(selector):
    content = content_of(make_report(selector, DIGITS))
    indices = content["samples"]["indices"]
    assert content["samples"]["labels"] == [str(label) for label in DIGITS.labels[indices]]
    for levels, index in zip(shown_samples(content), indices, strict=True):
        sample = DIGITS.data[index]
        low, high = sample.min(), sample.max()
        np.testing.assert_allclose(
            low + levels / 255 * (high - low), sample, atol=(high - low) / 500
        )


def test_traces_are_centred_on_one_scale():
    units = np.array([1.0, 1e6, 1e-6])[:, None]
    X = (RNG.normal(size=(30, 3, 40)) + 7) * units
    content = content_of(make_report(STPCASelector(1, feature_mode=0).fit(X), X))
    levels = shown_samples(content).astype(float)
    assert abs(levels.mean() - 127.5) < 3
    spread = levels.std(axis=(0, 2))
    assert spread.max() / spread.min() < 1.2
    # The trace itself: a straight function of the values but for rounding and cut extremes.
    assert np.corrcoef(levels[0, 1], X[0, 1])[0, 1] > 0.99


def test_long_traces_are_thinned_and_say_so():
    X = RNG.normal(size=(5, 3, 2000))
    selector = STPCASelector(1, feature_mode=0).fit(X)
    samples = content_of(make_report(selector, X))["samples"]
    assert samples["shape"] == [3, 500]
    assert samples["step"] == 4


def test_rows_are_the_tensors_they_stand_for():
    rows = DIGITS.data.reshape(-1, 64)
    of_rows = STPCASelector(20, feature_shape=(8, 8)).fit(rows)
    one, other = (content_of(make_report(of_rows, data, title="x")) for data in (rows, DIGITS.data))
    assert one == other
    assert one["geometry"]["axes"] == [0, 1]


def test_complex_samples_are_shown_by_their_modulus():
    X = RNG.normal(size=(9, 4, 5)) + 1j * RNG.normal(size=(9, 4, 5))
    content = content_of(make_report(STPCASelector(3).fit(X), X))
    assert content["samples"]["modulus"] is True
    shown, modulus = shown_samples(content)[2], np.abs(X[2])
    assert np.argmax(shown) == np.argmax(modulus)
    assert np.argmin(shown) == np.argmin(modulus)


def test_further_modes_start_where_the_first_feature_is():
    X = RNG.normal(size=(30, 3, 6, 5)) * np.array([1, 2, 9])[:, None, None]
    selector = VarianceSelector(4).fit(X)
    selector.order_ = selector.order_[::-1]  # not the highest score first
    geometry = content_of(make_report(selector, X))["geometry"]
    assert geometry["axes"] == [1, 2]
    assert geometry["further"] == [0]
    assert geometry["start"] == [np.unravel_index(selector.order_[0], (3, 6, 5))[0]]


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["exact", ExactSolver(tol=1e-7)])
def test_certificates_are_those_of_the_slices(solver):
    X = DIGITS.data[:200]
    exact = STPCASelector(10, solver=solver).fit(X)
    held = content_of(make_report(exact, X))["views"][0]["certificates"]
    np.testing.assert_allclose(held["gap"], exact.dual_gap_, rtol=1e-5)
    np.testing.assert_allclose(held["objective"], exact.objective_, rtol=1e-5)
    assert held["steps"] == exact.n_iter_.tolist()
    assert held["n_converged"] == held["total"] == 8
    assert held["solver"] == "exact"
    paper = STPCASelector(10, solver=PaperSolver(max_iter=1)).fit(X)
    held = content_of(make_report(paper, X))["views"][0]["certificates"]
    assert held["solver"] == "paper"
    assert held["gap"] is None
    assert held["n_converged"] == 0


def test_gaps_below_rounding_are_shown_as_rounding():
    X = DIGITS.data[:200]
    exact = STPCASelector(10).fit(X)
    exact.dual_gap_ = np.where(np.arange(8) < 4, -1e-16, exact.dual_gap_)
    held = content_of(make_report(exact, X))["views"][0]["certificates"]
    assert held["gap"][:4] == pytest.approx([np.finfo(float).eps] * 4, rel=1e-5)
    np.testing.assert_allclose(held["gap"][4:], exact.dual_gap_[4:], rtol=1e-5)
    exact.dual_gap_ = np.full(8, -1e-16)
    assert content_of(make_report(exact, X))["views"][0]["certificates"]["worst_gap"] > 0


def test_many_slices_show_the_worst():
    X = RNG.normal(size=(6, 2, 40, 30))
    selector = STPCASelector(5).fit(X)
    held = content_of(make_report(selector, X))["views"][0]["certificates"]
    assert held["total"] == 1200
    assert len(held["slices"]) == 1000
    left_out = np.setdiff1d(np.arange(1200), held["slices"])
    assert selector.n_iter_[left_out].max() <= min(held["steps"])


def test_another_selector_says_when_its_count_matters():
    X = DIGITS.data[:60]
    page = make_report(RNE(5, random_state=0).fit(X), X)
    (view,) = content_of(page)["views"]
    assert "depend on the number of features" in view["caveat"]
    page = make_report(NDFS(5, n_clusters=3, random_state=0, max_iter=3).fit(X), X)
    assert content_of(page)["views"][0]["caveat"] is None
    page = make_report(STPCASelector(5).fit(X), X)
    assert "The first 5 features were chosen" in content_of(page)["views"][0]["caveat"]
    for solver in ("exact", ExactSolver()):
        top = STPCASelector(5, lam=100, eta=100, selection="top", solver=solver).fit(X)
        caveat = content_of(make_report(top, X))["views"][0]["caveat"]
        assert "Features with a score of zero are sorted" in caveat


def test_comparison_stands_alone_or_beside_a_selector(selector):
    X = DIGITS.data[:80]
    found = compare_selectors(X, ["laplacian score"], 20, n_resamples=3)
    alone = content_of(make_report(None, X, comparison=found))
    assert [view["name"] for view in alone["views"]] == list(found.features)
    for view, (method, features) in zip(alone["views"], found.features.items(), strict=True):
        ranking = decoded(view["ranking"]["values"], "<u2")
        np.testing.assert_array_equal(ranking[:20], features)
        np.testing.assert_array_equal(ranking, found.orders[method])
        assert sorted(ranking) == list(range(64))
    assert alone["comparison"]["table"] == found.to_table()
    beside = content_of(make_report(selector, DIGITS, comparison=found))
    assert [view["kind"] for view in beside["views"]] == ["chosen"] + ["method"] * 3


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
def test_alternatives_are_all_settings_but_its_own(selector):
    made = make_alternatives(selector)
    assert len(made) == 5
    assert "orientation 0, identity" not in made
    for name, other in made.items():
        parameters = other.get_params()
        assert name == f"orientation {parameters['orientation']}, {parameters['basis']}"
        assert parameters["n_features_to_select"] == 20
    assert make_alternatives(STPCASelector(2).fit(RNG.normal(size=(9, 5)))) == {}
    long = STPCASelector(2).fit(RNG.normal(size=(4, 2, 1025)))
    assert {other.orientation for other in make_alternatives(long).values()} == {0}
    # What was chosen itself is never too long.
    one_step = PaperSolver(max_iter=1)
    long = STPCASelector(2, orientation=1, solver=one_step).fit(RNG.normal(size=(4, 2, 1025)))
    assert {other.orientation for other in make_alternatives(long).values()} == {0, 1}


def test_code_makes_the_selection_again(selector):
    X = RNG.normal(size=(40, 6, 5))
    fitted = STPCASelector(
        0.2, orientation=-1, basis="dct", lam=np.float64(0.5), solver="exact"
    ).fit(X)
    (view,) = content_of(make_report(fitted, X))["views"]
    for count in (4, 6):
        names = {"X": X}
        exec(str(count).join(view["code"]), names)
        np.testing.assert_array_equal(
            names["selector"].get_support(indices=True), np.sort(fitted.order_[:count])
        )


@pytest.mark.parametrize(
    ("selector", "imports"),
    [
        (
            STPCASelector(4, solver=ExactSolver(tol=1e-5)),
            "from tensift import ExactSolver, STPCASelector",
        ),
        (VarianceSelector(4), "from tensift.rivals import VarianceSelector"),
        (
            SPCAPSD(4, solver=PaperSolver(max_iter=500)),
            "from tensift.rivals import SPCAPSD\nfrom tensift import PaperSolver",
        ),
    ],
)
def test_code_imports_what_it_uses(selector, imports):
    X = RNG.normal(size=(40, 6, 5))
    fitted = selector.fit(X)
    (view,) = content_of(make_report(fitted, X))["views"]
    assert view["code"][0].startswith(f"{imports}\n")
    names = {"X": X}
    exec("4".join(view["code"]), names)
    np.testing.assert_array_equal(names["selector"].order_, fitted.order_)


def test_code_of_a_matrix_has_the_words_of_the_source():
    X = RNG.normal(size=(20, 4, 3))
    M = RNG.normal(size=(3, 3))
    source = Source(parameters={"basis": "M"}, imports=["import numpy as np"])
    fitted = STPCASelector(4, basis=M).fit(X)
    others = {"plain": STPCASelector(4, basis="dct").fit(X)}
    views = content_of(make_report(fitted, X, source=source, alternatives=others))["views"]
    names = {"X": X, "M": M}
    exec("4".join(views[0]["code"]), names)
    np.testing.assert_array_equal(names["selector"].scores_, fitted.scores_)
    assert "basis='dct'" in views[1]["code"][1]


# The file: small, complete, safe, the same every time


def assert_nothing_outside(page):
    without = re.sub(r'<script type="application/json".*?</script>', "", page)
    without = without.replace('href="data:,"', "").replace('href="#features"', "")
    for word in (r"https?:", r"url\(", r"\bsrc=", r"@import", r"\bhref=", r"import\(", r"\bfetch\b",
                 "XMLHttpRequest", "WebSocket", "eval", "innerHTML", "outerHTML",
                 "insertAdjacentHTML", r"document\.write", r"\bstyle="):  # fmt: skip
        assert not re.search(word, without), word


def test_page_refers_to_nothing_outside(selector):
    assert_nothing_outside(make_report(selector, DIGITS))


def test_page_allows_no_script_but_its_own(selector):
    page = make_report(selector, DIGITS)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def hostile_report():
    X = RNG.normal(size=(12, 2, 3))
    data = TensorDataset(
        X,
        name=HOSTILE,
        labels=[HOSTILE] * 12,
        dims=(HOSTILE, "y"),
        coords={HOSTILE: [HOSTILE, "b"]},
    )
    fitted = STPCASelector(2).fit(X)
    return make_report(
        fitted,
        data,
        alternatives={HOSTILE: fitted},
        source=Source(samples=repr(HOSTILE), facts={HOSTILE: HOSTILE}),
    )


def test_hostile_names_stay_text():
    page = hostile_report()
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "\u2028" not in re.search(r'id="content">(.*?)</script>', page)[1]
    content = content_of(page)
    assert content["title"] == HOSTILE
    assert content["geometry"]["labels"][0] == [HOSTILE, "b"]
    assert_nothing_outside(page.replace(re.search(r"<title>.*?</title>", page)[0], ""))


def test_same_arguments_same_bytes(selector):
    assert make_report(selector, DIGITS) == make_report(selector, DIGITS)


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
def test_large_images_stay_well_below_a_megabyte():
    X = RNG.normal(size=(213, 64, 64))
    fitted = STPCASelector(100, solver=PaperSolver(max_iter=1)).fit(X)
    others = {f"other {i}": fitted for i in range(5)}
    page = make_report(fitted, X, alternatives=others)
    assert len(page.encode()) < 800_000
    indices = content_of(page)["samples"]["indices"]
    assert 20 <= len(indices) < 213
    assert indices[0] == 0
    assert indices[-1] == 212
    assert np.ptp(np.diff(indices)) <= 1


def test_file_appears_whole_or_not_at_all(tmp_path, selector):
    path = tmp_path / "report.html"
    write_report(path, selector, DIGITS)
    assert path.read_text(encoding="utf-8") == make_report(selector, DIGITS)
    with pytest.raises(OSError, match=r"cannot write .*: it is a folder"):
        write_report(tmp_path, selector, DIGITS)
    with pytest.raises(OSError, match=r"cannot write .*missing"):
        write_report(tmp_path / "missing" / "report.html", selector, DIGITS)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_colours_can_be_told_apart():
    style = (importlib.resources.files("tensift.report") / "page" / "report.css").read_text()
    light, dark = re.findall(r":root[^{]*\{(.*?)\}", style, flags=re.DOTALL)[:2]
    for block in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block))
        for ground in ("page", "panel", "wash"):
            assert contrast(colours["ink"], colours[ground]) >= 7
            assert contrast(colours["soft"], colours[ground]) >= 4.5
            assert contrast(colours["focus"], colours[ground]) >= 3
        assert contrast(colours["kept"], colours["page"]) >= 3
        ramp = [luminance(colours[f"ramp-{i}"]) for i in range(5)]
        steps = np.diff(ramp)
        assert (steps < 0).all() or (steps > 0).all()


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_public_names_have_examples():
    for name in tensift.report.__all__:
        assert ">>>" in getattr(tensift.report, name).__doc__, name


# Bad input


def test_wrong_arguments_are_told(selector):
    found = compare_selectors(DIGITS.data[:40], [], 5, n_resamples=2)
    with pytest.raises(NotFittedError):
        make_report(STPCASelector(), DIGITS)
    with pytest.raises(TypeError, match="selector must be a fitted selector of tensift; got str"):
        make_report("stpca", DIGITS)
    with pytest.raises(ValueError, match="pass a fitted selector, or a comparison"):
        make_report(None, DIGITS)
    with pytest.raises(ValueError, match=r"give at least one of the shape .* \(8, 8\)"):
        make_report(selector, np.zeros((3, 4, 4)))
    with pytest.raises(ValueError, match="0 samples"):
        make_report(selector, np.zeros((0, 8, 8)))
    with pytest.raises(ValueError, match="data must be finite"):
        make_report(selector, np.full((3, 8, 8), np.nan))
    X = RNG.normal(size=(200, 64, 64))
    fitted = VarianceSelector(5).fit(X)
    shown = content_of(make_report(fitted, X))["samples"]["indices"]
    X[np.setdiff1d(np.arange(200), shown)[0], 3, 3] = np.nan
    with pytest.raises(ValueError, match="data must be finite; found NaN or infinity"):
        make_report(fitted, X)
    with pytest.raises(TypeError, match="comparison must be a result of compare_selectors"):
        make_report(selector, DIGITS, comparison={})
    with pytest.raises(TypeError, match=r"alternatives\['x'\] must be a fitted selector"):
        make_report(selector, DIGITS, alternatives={"x": 3})
    other = STPCASelector(2).fit(DIGITS.data[:, :4])
    with pytest.raises(ValueError, match=r"alternatives\['x'\] has other features"):
        make_report(selector, DIGITS, alternatives={"x": other})
    with pytest.raises(ValueError, match="comparison has samples of shape"):
        make_report(other, DIGITS.data[:, :4], comparison=found)
    with pytest.raises(TypeError, match="selector must be a fitted STPCASelector"):
        make_alternatives(NDFS())


# From the command line


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", DIGITS.data[:100])
    return tmp_path


def test_command_writes_one_file(here, capsys):
    assert main(["report", "x.npy", "-k", "9", "--lam", "1", "--title", "Nine pixels"]) == 0
    assert {path.name for path in here.iterdir()} == {"x.npy", "x.npy-report.html"}
    content = content_of((here / "x.npy-report.html").read_text(encoding="utf-8"))
    assert content["title"] == "Nine pixels"
    kinds = [view["kind"] for view in content["views"]]
    assert kinds == ["chosen", *["alternative"] * 5, "stability"]
    expected = STPCASelector(9, lam=1.0).fit(DIGITS.data[:100])
    view = content["views"][0]
    np.testing.assert_array_equal(decoded(view["ranking"]["values"], "<u2"), expected.order_)
    names = {}
    exec("9".join(view["code"]), names)
    np.testing.assert_array_equal(names["selector"].scores_, expected.scores_)
    assert (
        dict(content["facts"])["SHA-256"]
        == hashlib.sha256((here / "x.npy").read_bytes()).hexdigest()
    )
    assert "x.npy-report.html" in capsys.readouterr().out
    assert main(["report", "x.npy", "-k", "9"]) == 1
    assert "x.npy-report.html exists already; pass --overwrite" in capsys.readouterr().err
    shorter = ["--overwrite", "--no-alternatives", "--no-stability", "--quiet"]
    assert main(["report", "x.npy", "-k", "9", *shorter]) == 0
    assert len(content_of((here / "x.npy-report.html").read_text(encoding="utf-8"))["views"]) == 1


def test_command_line_select_and_page_suggest_the_same(here, capsys):
    found = suggest_count(DIGITS.data[:100])
    assert main(["report", "x.npy", "-k", "auto", "--no-alternatives"]) == 0
    said = capsys.readouterr().out
    assert f"chosen    {found.reason}\n" in said
    assert f"kept      {found.count} of 64 features\n" in said
    assert main(["select", "x.npy", "-k", "auto", "--no-figure"]) == 0
    assert f"chosen    {found.reason}\n" in capsys.readouterr().out
    content = content_of((here / "x.npy-report.html").read_text(encoding="utf-8"))
    assert content["suggestion"]["count"] == content["views"][0]["fitted"] == found.count


def test_alternatives_that_cannot_be_fitted_are_left_out(here, capsys, monkeypatch):
    fit = STPCASelector.fit

    def refuse(self, X, y=None):
        if self.orientation == 1 and self.get_params()["basis"] == "dct":
            raise ValueError("no such thing")
        return fit(self, X, y)

    monkeypatch.setattr(STPCASelector, "fit", refuse)
    assert main(["report", "x.npy", "-k", "9", "--no-stability"]) == 0
    assert "left out of the report: orientation 1, dct; x.npy: no such" in capsys.readouterr().err
    assert len(content_of((here / "x.npy-report.html").read_text(encoding="utf-8"))["views"]) == 5


def test_page_of_the_documentation_runs(here):
    text = (Path(__file__).parents[1] / "docs" / "report.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {}
    exec(code, names)
    content = content_of((here / "digits.html").read_text(encoding="utf-8"))
    assert len(content["views"]) == 6


def test_command_leaves_nothing_after_an_error(here, capsys):
    assert main(["report", "x.npy", "-k", "9", "-o", "new/r.html", "--orientation", "7"]) == 1
    assert "orientation" in capsys.readouterr().err
    assert {path.name for path in here.iterdir()} == {"x.npy"}


def test_matrix_from_a_file_is_read_again_by_the_code(here):
    np.save("m.npy", RNG.normal(size=(8, 8)))
    assert (
        main(["report", "x.npy", "-k", "9", "--basis", "m.npy", "--quiet", "--no-stability"]) == 0
    )
    views = content_of((here / "x.npy-report.html").read_text(encoding="utf-8"))["views"]
    assert views[0]["name"] == "orientation 0, matrix"
    for view in views:
        names = {}
        exec("9".join(view["code"]), names)
        np.testing.assert_array_equal(
            names["selector"].order_, decoded(view["ranking"]["values"], "<u2")
        )


def test_select_and_compare_write_a_report_when_asked(here):
    run = ["--quiet", "--no-figure"]
    assert main(["select", "x.npy", "-k", "9", *run]) == 0
    assert not (here / "x.npy-tensift" / "report.html").exists()
    assert main(["select", "x.npy", "-k", "9", "--report", "--overwrite", *run]) == 0
    page = (here / "x.npy-tensift" / "report.html").read_text(encoding="utf-8")
    assert len(content_of(page)["views"]) == 6

    options = ["--methods", "mcfs", "--clusters", "4", "--resamples", "2", "--report"]
    assert main(["compare", "x.npy", "-k", "9", *options, *run]) == 0
    page = (here / "x.npy-compare" / "report.html").read_text(encoding="utf-8")
    views = content_of(page)["views"]
    assert [view["name"] for view in views] == ["MCFS", "VarianceSelector", "RandomSelector"]
    before, after = views[0]["code"]
    *lines, last = f"{before}9{after}".splitlines()
    names = {}
    exec("\n".join(lines), names)
    kept = eval(last, names)
    np.testing.assert_array_equal(kept, decoded(views[0]["ranking"]["values"], "<u2")[:9])


def test_facts_say_how_recognisable_samples_are():
    X = DIGITS.data[:300]
    fitted = VarianceSelector(12).fit(X)
    facts = dict(content_of(make_report(fitted, X))["facts"])
    kept = fitted.get_support(indices=True)
    assert facts["neighbours kept, of 12 features"] == f"{100 * neighbours_kept(X, kept):.0f} %"
    assert facts["alignment, of 12 features"] == f"{alignment(X, kept):.3f}"
    few = dict(content_of(make_report(fitted, X[:8]))["facts"])
    assert not any("neighbours" in name for name in few)
