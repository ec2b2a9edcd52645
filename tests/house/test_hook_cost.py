"""What one denied hook imports and runs of our source.

The limits are upper bounds and may only fall. The targets are 120 modules and 80 files.
"""

import pytest
from source_code import SOURCE

import house

MODULES = 171
ENTRY_POINT_MODULES = 15
FILES = 110


@pytest.fixture(scope="module")
def hook():
    job = house.deny_hook(SOURCE.parent)
    assert job is not None, "the hook did not deny; run it by hand: see deny_hook in tools/house.py"
    return job


def test_the_entry_point_imports_few_modules(hook):
    """It runs for every tool call, also if the resident decides.

    If this fails, compare the list with the parent commit. Usually a package that the entry point
    needs (`hosts/clients/__init__.py`, `cli/errors.py`) imports something new at its top.
    """
    found = sorted(hook.entry_point.modules)

    assert len(found) <= ENTRY_POINT_MODULES, f"{len(found)} modules:\n" + "\n".join(found)


def test_the_child_imports_few_modules(hook):
    """A child starts for every tool call if no resident runs.

    If this fails, read the list: it has the modules that were imported, but of which no function
    ran. Import them where they are used, or move the one name that is needed. `python -X
    importtime -m bylaw …` shows who imports them.
    """
    found = hook.child.modules
    unused = sorted(found - {_module(file) for file in hook.files})

    assert len(found) <= MODULES, f"{len(found)} modules, of them unused:\n" + "\n".join(unused)


def test_few_files_run(hook):
    """Calls that modules make while they load do not count: see tools/house.py.

    If this fails, find the file that is new in the list. Merge a file that only passes a call on
    into its caller or into the file that it calls.
    """
    found = sorted(hook.deciding_files)

    assert len(found) <= FILES, f"{len(found)} files:\n" + "\n".join(found)


def _module(file):
    return "bylaw." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
