#!/bin/sh
# What needs an accelerator, in one command: the tests of arrays on a device, then the benchmark.
# Needs tensift's own dependencies, pytest and PyTorch; CuPy and JAX are used if they are there.
# From the root of the repository: benchmarks/on_gpu.sh [options of benchmarks/device.py]
set -e
PYTHON="${PYTHON:-python3}"
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}"
# JAX would take most of the memory at once and leave none for the others.
export XLA_PYTHON_CLIENT_PREALLOCATE=false
TENSIFT_DEVICE="${TENSIFT_DEVICE:-cuda}" "$PYTHON" -m pytest -q -p no:cacheprovider \
    tests/test_solvers_device_*.py tests/test_device_*.py
"$PYTHON" -m benchmarks.device "$@"
