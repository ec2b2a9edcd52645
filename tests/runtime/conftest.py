"""A root with a language that reads scripts and notes what it checked."""

import pytest
import scripted


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
