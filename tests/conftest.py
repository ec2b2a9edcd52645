"""The language of `tests/dialect` is installed for the tests and for what they start."""

import os
import sys
from pathlib import Path

DIALECT = str(Path(__file__).parent / "dialect")

sys.path.insert(0, DIALECT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [DIALECT, os.environ.get("PYTHONPATH")]))

# A start must not know what an earlier one found; a test that wants a cache names its own.
os.environ["XDG_CACHE_HOME"] = "none"
