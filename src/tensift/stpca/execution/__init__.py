"""Where slices are solved: in this process, in passes over files, on Dask, or on a device."""

from tensift.stpca.execution._executor import SliceExecutor, executor_for, executor_for_gram

__all__ = ["SliceExecutor", "executor_for", "executor_for_gram"]
