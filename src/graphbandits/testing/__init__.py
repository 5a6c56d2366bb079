"""The contract that every plug-in passes, for your own tests and ``graphbandits check``.

A test of all policies that are enrolled, yours among them, is three lines::

    @pytest.mark.parametrize("case", graphbandits.testing.cases("policy"), ids=str)
    def test_the_contract(case):
        case.require()
"""

from graphbandits._old_words import renamed_names
from graphbandits.testing.contract import (
    Case,
    Check,
    ContractViolation,
    Verdict,
    cases,
    check_plugins,
    contract,
)

__all__ = ["Case", "Check", "ContractViolation", "Verdict", "cases", "check_plugins", "contract"]

__getattr__ = renamed_names(__name__, {"Violation": "ContractViolation"})
