"""`python -m penstock ARGS`, and what spark-submit is given: `spark-submit ... penstock/__main__.py ARGS`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # spark-submit puts this file's folder first on the path, where our modules would hide others of their names.
    here = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if not p or Path(p).resolve() != here]

    from penstock.console.cli import main

    sys.argv[0] = "penstock"
    sys.exit(main())
