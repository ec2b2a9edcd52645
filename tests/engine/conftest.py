"""The builders of `tests/form` are shared: books by hand, and a session that is driven."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "form"))
