"""Choose the few features that matter in tensor data, without labels."""

__version__ = "0.1.0"
