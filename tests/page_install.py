"""What pages about hooks see of a machine: one interpreter, no clients, and a home without files."""

from bylaw.hosts.hooks.install import detect, forms
from bylaw.hosts.hooks.install.forms import CLIENTS

PYTHON = "/opt/bylaw/bin/python"


class Machine:
    """What `sys` is for whoever looks for the interpreter."""

    executable = PYTHON


def use_machine(monkeypatch, home):
    """Have every machine look alike; that the interpreter starts is tested elsewhere."""
    monkeypatch.setenv("HOME", str(home))
    for client in CLIENTS.values():
        for variable, _ in client.places.variables:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(forms, "sys", Machine)
    monkeypatch.setattr(detect, "which", lambda _: None)
    for verb in ("install", "init"):
        monkeypatch.setattr(f"bylaw.cli.{verb}.check_interpreter", lambda _: None)
