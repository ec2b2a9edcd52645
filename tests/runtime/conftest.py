"""A root with a language that reads scripts and notes what it checked."""

import pytest
import scripted

from bylaw.runtime import scripts


@pytest.fixture
def scripted_root(tmp_path, tmp_path_factory, monkeypatch):
    info = tmp_path_factory.mktemp("installed") / "scripted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bylaw.dialects]\nscripted = scripted\n")
    monkeypatch.syspath_prepend(str(info.parent))
    scripted.checked.clear()
    scripted.scripts.clear()
    root = tmp_path / "root"
    (root / "rules" / "scripts").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


_PATIENT_WORKER = """
import sys
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("worker", {path!r})
worker = module_from_spec(spec)
spec.loader.exec_module(worker)
worker.SECONDS = 300
worker.main(sys.argv[1])
"""


@pytest.fixture
def patient_worker(tmp_path_factory):
    """The file of a worker that gives a script minutes."""
    path = tmp_path_factory.mktemp("worker") / "worker.py"
    path.write_text(_PATIENT_WORKER.format(path=str(scripts._WORKER)))
    return path


@pytest.fixture
def patient_scripts(monkeypatch, patient_worker):
    """Scripts have minutes, so that a busy machine kills none of them."""
    monkeypatch.setattr(scripts, "_WORKER", patient_worker)
    monkeypatch.setattr(scripts, "START_SECONDS", 300.0)
    monkeypatch.setattr(scripts, "SCRIPT_SECONDS", 300.0)
