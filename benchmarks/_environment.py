"""Describe the machine and the versions that a measurement belongs to."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version

import threadpoolctl

from benchmarks._data import ROOT

PACKAGES = (
    "tensift",
    "numpy",
    "scipy",
    "scikit-learn",
    "skfeature-chappers",
    "mprod-package",
    "tred",
    "sparsepca",
)


def describe_environment():
    """Return names and values in the order to print them."""
    return {
        "CPU": f"{_cpu_model()}, {n_cores()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "source": _revision(),
        "BLAS": "; ".join(_blas()),
        "load at the start": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?",
    }


def n_cores():
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _revision():
    """Return the commit, and say whether the library's files differ from it."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"
    return f"commit {commit}" + (", with uncommitted changes in src" if changed else "")


def _git(*arguments):
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def _blas():
    import scipy.linalg  # noqa: F401  loads SciPy's own copy of BLAS

    libraries = {
        f"{info['internal_api']} {info['version']} ({info.get('architecture', 'unknown')})"
        for info in threadpoolctl.threadpool_info()
        if info["user_api"] == "blas"
    }
    return sorted(libraries)
