"""The bundled contract, for tests that need its cases."""

from retryproof.app import contract_bundle
from retryproof.contract.bundle import Case

BUNDLE = contract_bundle()
CASES = {case.name: case for case in BUNDLE.cases}


def case_names(cases: tuple[Case, ...] = BUNDLE.cases) -> list[str]:
    return [case.name for case in cases]
