"""How Hypothesis runs: the same examples every time by default; `HYPOTHESIS_PROFILE=explore` looks for new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A kernel's first call compiles it, so neither a deadline nor a slow first example says anything.
_STEADY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}

settings.register_profile("steady", derandomize=True, database=None, **_STEADY)
settings.register_profile("explore", max_examples=1000, **_STEADY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
