"""The public names and their types: what `mypy` accepts here is the contract."""

from typing import assert_type

import bylaw

assert_type(bylaw.__version__, str)
