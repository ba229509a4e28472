"""Sphinx settings for `make docs`. Neither the build nor the pages download anything."""

import os
import re
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # gallery examples are too small for threads
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from sphinx_gallery.sorting import ExplicitOrder

import tensift

project = "tensift"
author = "The tensift developers"
project_copyright = author
version = release = tensift.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_design",
    "mathml",
]
exclude_patterns = ["_build", "gallery", "auto_gallery/**/*.ipynb", "pictures"]
default_role = "literal"
templates_path = ["_templates"]

# Pages must also work on GitHub, so links use headings as targets and files outside `docs`.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "tensift"
html_static_path = ["_static"]
html_css_files = ["tensift.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_sidebars = {name: [] for name in ("index", "start", "parameters", "versus")}  # no pages below
html_show_sourcelink = False
html_favicon = "_static/logo.svg"
html_context = {  # where "edit this page" leads, and colours
    "github_user": "tensift",
    "github_repo": "tensift",
    "github_version": "main",
    "doc_path": "docs",
    "default_mode": "auto",  # light or dark, as the reader's system is
}
html_theme_options = {
    "logo": {
        "text": "tensift",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "tensift, start page",
    },
    "github_url": "https://github.com/tensift/tensift",
    "use_edit_page_button": True,
    "navbar_start": ["navbar-logo", "version"],
    "secondary_sidebar_items": ["page-toc", "edit"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
}

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
toc_object_entries_show_parents = "hide"
autodoc_mock_imports = ["aeon", "sktime"]  # their upper bounds keep them out of this environment
autodoc_typehints = "none"  # the numpydoc sections list the types
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_images.py",
            "plot_wearables.py",
            "plot_mne.py",
            "plot_eeg.py",
            "plot_hyperspectral.py",
            "plot_bands.py",
            "plot_radar.py",
            "plot_video.py",
            "plot_sensors.py",
        ]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "backreferences_dir": None,
    "doc_module": ("tensift",),
}

plot_basedir = str(Path(__file__).parent / "pictures")
plot_html_show_source_link = False
plot_html_show_formats = False
plot_include_source = False
plot_formats = [("svg", 100)]
plot_rcparams = {"svg.hashsalt": "tensift", "figure.constrained_layout.use": True}

nitpicky = True

_OF_SCIKIT_LEARN = {"fit_transform", "get_support"}  # inherited methods that we document


def _skip(app, kind, name, member, skip, options):
    """Skip methods that every estimator or sequence has: their texts link to other pages."""
    module = getattr(member, "__module__", None) or ""
    if module == "collections.abc":
        return True
    if module.startswith("sklearn") and name not in _OF_SCIKIT_LEARN:
        return True
    return None


def _copy_files_outside(app, name, source):
    """Turn links to files outside `docs` into downloads, and links to folders into plain text.

    Pictures are not changed, because Sphinx copies them itself.
    """
    folder = Path(app.env.doc2path(name)).parent

    def link(match):
        target = (folder / match[2]).resolve()
        if target.is_relative_to(app.srcdir):
            return match[0]
        return match[1] if target.is_dir() else f"[{match[1]}](path:{match[2]})"

    source[0] = re.sub(r"(?<!!)\[([^]]*)\]\((\.\./[^)#]+)\)", link, source[0])


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _copy_files_outside)
