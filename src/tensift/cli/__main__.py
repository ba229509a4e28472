"""Run the command line as ``python -m tensift.cli``."""

import sys

from tensift.cli._main import main

sys.exit(main())
