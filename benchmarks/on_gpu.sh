#!/bin/sh
# Run everything that needs an accelerator: the tests of arrays on a device, then the benchmarks.
# Needs tensift's dependencies, pytest and PyTorch. CuPy and JAX are used if they are installed.
# From the root of the repository: benchmarks/on_gpu.sh [options of benchmarks/device.py]
set -e
PYTHON="${PYTHON:-python3}"
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}"
# Otherwise JAX takes most of the memory at once and leaves none for the others.
export XLA_PYTHON_CLIENT_PREALLOCATE=false
TENSIFT_DEVICE="${TENSIFT_DEVICE:-cuda}" "$PYTHON" -m pytest -q -p no:cacheprovider \
    tests/test_*_device*.py
"$PYTHON" -m benchmarks.device "$@"
"$PYTHON" -m benchmarks.device_fit --blocks
