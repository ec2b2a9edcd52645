"""The tests of this folder read the source. They use the script of `make house`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
