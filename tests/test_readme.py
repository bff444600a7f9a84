"""What the README shows is what a reader gets; its Python examples run as doctests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest

from player.cli import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"[\d.,]+(?= (?:s\b|states/s|playouts|steps,))|(?<=best of )\d+")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example.split()[1:4]))
def test_examples_print_what_they_say(example: str, tmp_path: Path) -> None:
    """`…` stands for any output; what is measured may differ."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    ggp = scripts / "ggp"
    ggp.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c 'from player.cli import main; main()' \"$@\"\n")
    ggp.chmod(0o755)
    environment = os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for part in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        wanted, got = (MEASURED.sub("#", text) for text in (expected.replace("…", "..."), done.stdout))
        same = OutputChecker().check_output(wanted, got, ELLIPSIS | NORMALIZE_WHITESPACE)
        assert same, f"{command}\nexpected:\n{expected}\ngot:\n{done.stdout}"


def test_every_command_is_listed() -> None:
    assert re.findall(r"^\| `ggp (\w+)", README, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(map(str, ROOT.glob("docs/*.md")))]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_the_readme_counts_the_games() -> None:
    assert f"with {len(list((ROOT / 'gdl_games').glob('*.kif')))} games in the box" in README
