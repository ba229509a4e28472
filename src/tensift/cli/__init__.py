"""The command line, ``tensift``."""

from tensift.cli._main import main

__all__ = ["main"]
