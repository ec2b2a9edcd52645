"""Files → the same files with a licence in their first line; what has one is left alone."""

import sys
from pathlib import Path

HEADER = "// SPDX-License-Identifier: Apache-2.0\n"

for name in sys.argv[1:]:
    text = Path(name).read_text(encoding="utf-8")
    if not text.startswith(HEADER):
        Path(name).write_text(HEADER + text, encoding="utf-8")
