"""Support code of the tests: oracles, reference implementations, mutants and builders."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SRC = ROOT / "src"
FIXTURES = TESTS / "fixtures"
