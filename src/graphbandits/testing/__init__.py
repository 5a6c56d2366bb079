"""Contract tests for plug-ins, for your own test suite and ``graphbandits check``.

A test of all registered policies, including your own, has three lines::

    @pytest.mark.parametrize("case", graphbandits.testing.cases("policy"), ids=str)
    def test_the_contract(case):
        case.require()
"""

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
