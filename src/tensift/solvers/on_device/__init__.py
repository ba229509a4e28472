"""Solvers in the pure array API, for arrays that live on an accelerator."""

from tensift.solvers.on_device._sign import psd_part

__all__ = ["psd_part"]
