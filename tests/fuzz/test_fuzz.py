"""Every parser takes its corpus and some seconds of broken inputs without harm.

Another seed in BYLAW_FUZZ_SEED gives other inputs; `make fuzz` runs longer.
"""

import os

import pytest
from drive import DEFAULT_SEED, FindingError, fuzz
from targets import TARGETS

SECONDS = 2
SEED = os.environ.get("BYLAW_FUZZ_SEED", DEFAULT_SEED)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_parser(name):
    try:
        fuzz(name, SECONDS, SEED)
    except FindingError as finding:
        pytest.fail(str(finding))
