"""What the README points to exists; tests/test_pages.py runs what it shows."""

import importlib
import re
from pathlib import Path

import tensift

ROOT = Path(__file__).parents[1]
# Names that packages share with each other. Users do not need them, so they have no examples.
HELPERS = {
    "ACCENT",
    "active_cluster",
    "as_bytes",
    "as_count",
    "as_rate",
    "as_shape",
    "available_memory",
    "best_decoder",
    "block_elements",
    "blocks_of",
    "BLUE",
    "bounds_of_critical",
    "bounds_of_slices",
    "CHANNEL",
    "check_data",
    "check_samples",
    "check_finite",
    "check_finite_on_device",
    "check_fractions",
    "check_magnitude",
    "check_readable",
    "checked_chunk",
    "choose_tensor",
    "Chunk",
    "ChunkedSource",
    "column_norms",
    "coords_of",
    "count_features",
    "DaskMoments",
    "DaskSource",
    "data_channels",
    "DEFAULT_SELECTORS",
    "encode_labels",
    "EncoderProblems",
    "EvenSubsample",
    "explained_failure",
    "feature_names",
    "FEATURE_DIM",
    "file_of_values",
    "files_of_input",
    "floating_on_device",
    "Form",
    "format_seconds",
    "gather_results",
    "header_line",
    "in_processes",
    "is_loaded_recording",
    "is_random",
    "is_recording",
    "is_xarray",
    "joined_gram",
    "keep_on_workers",
    "kept_recording",
    "kept_values",
    "Labelled",
    "labelled_dataset",
    "largest_modulus",
    "lazy_source",
    "list_sets",
    "locate_errors",
    "lowest_from_guess",
    "Method",
    "MomentsInPasses",
    "MUTED",
    "n_axes",
    "names_of_arrays",
    "neighbor_graph",
    "not_kept_message",
    "open_tensor_file",
    "OrientedEstimator",
    "PathRows",
    "picked_recording",
    "plain_form",
    "polar_factor",
    "Reconstruction",
    "Replayed",
    "require_matplotlib",
    "RULES",
    "same_specification",
    "sample_axes",
    "sample_axes_of",
    "SampleDims",
    "Samples",
    "scaled_source",
    "scales_of_types",
    "SCORE_MAP",
    "Scoring",
    "Selection",
    "self_correlation",
    "SliceSolver",
    "SlicingReader",
    "solve_exact_block",
    "solve_paper_block",
    "solve_row",
    "solver_from",
    "spectrum_of",
    "Stack",
    "StoredSource",
    "take_in_subsample",
    "TensorEstimator",
    "tidy",
    "TRANSFORM_NAMES",
    "UnusableSample",
    "usable_gram",
    "usable_scale",
    "variances",
    "VectorisedSelector",
    "warn_of_open_slices",
    "XarrayForm",
    "XarrayOutput",
}


def test_files_it_points_to_exist():
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    for page in [*pages, *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https://)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_public_names_have_examples():
    folder = Path(tensift.__file__).parent
    packages = [path.parent.name for path in folder.glob("[a-z]*/__init__.py")]
    assert len(packages) > 15
    packages.remove("series")  # its examples run in make test-series, where aeon and sktime are
    for package in map(importlib.import_module, [f"tensift.{name}" for name in packages]):
        for name in set(package.__all__) - HELPERS:
            doc = getattr(package, name).__doc__ or ""
            assert ">>>" in doc, f"{package.__name__}.{name} has no example"
