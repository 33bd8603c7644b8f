"""Which known fault an implementation resembles, for people who never read the contract."""

from collections.abc import Sequence

from msgspec import Struct
from retryproof_protocol.messages import Observation

from .bundle import Bundle, Case
from .differences import classify, differences
from .model import FAULTS, REFERENCE, Model, Rules, faulty
from .profile import PROFILES, Profile, as_expected, profiled_case


class ObservedCase(Struct, frozen=True):
    """A case, and what was observed of its first steps: of all of them, unless it was cut off."""

    case: Case
    observations: tuple[Observation, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every step was observed."""
        return len(self.observations) == len(self.case.steps)

    @property
    def differs(self) -> bool:
        """Whether anything observed differs from the contract."""
        return self.observations != self.case.expected[: len(self.observations)]


class Diagnosis(Struct, frozen=True):
    """The one fault that explains every observed case, if any, and the finding in sentences."""

    fault: str | None
    explanation: str


def resembling_faults(observed: ObservedCase, rules: Rules = REFERENCE.rules) -> tuple[str, ...]:
    """The named faults whose whole trace of this case, under these rules, equals the observed."""
    if not observed.is_complete or not observed.differs:
        return ()
    return tuple(name for name in FAULTS if _explains(faulty(name, rules), observed))


def diagnose(bundle: Bundle, cases: Sequence[ObservedCase]) -> Diagnosis:
    """What the observed cases, taken together, say about the implementation."""
    observed = [case for case in cases if case.observations]
    if not observed:
        return Diagnosis(None, "Nothing was observed.")
    if not any(case.differs for case in observed):
        return Diagnosis(None, "Nothing that was observed differs from the contract.")
    fault, explanation = _explain(bundle, observed)
    return Diagnosis(fault, explanation + _caution(bundle, observed))


def _explain(bundle: Bundle, observed: Sequence[ObservedCase]) -> tuple[str | None, str]:
    models = {name: faulty(name, bundle.rules) for name in FAULTS}
    fitting = [name for name in FAULTS if all(_explains(models[name], case) for case in observed)]
    if len(fitting) == 1:
        return fitting[0], bundle.fault(fitting[0]).explanation
    if fitting:
        return None, f"What was observed fits {_either(fitting)}."
    return None, _explain_without_a_fault(bundle, observed)


def _explain_without_a_fault(bundle: Bundle, observed: Sequence[ObservedCase]) -> str:
    dialect = "; ".join(_other_statuses(observed))
    if not any(_has_effect(case) for case in observed):
        return (
            "Only status codes differ: every write and every receipt is as the contract has it. "
            f"This service speaks another dialect: {dialect}.{_declaration(observed)}"
        )
    models = {name: faulty(name, bundle.rules) for name in FAULTS}
    fitting = [
        name for name in FAULTS if all(_explains_effects(models[name], case) for case in observed)
    ]
    apart = f"Apart from its status codes{f' ({dialect})' if dialect else ''}, what was observed "
    if len(fitting) == 1:
        description = bundle.fault(fitting[0])
        return f"{apart}looks like {description.name}. {description.explanation}"
    if fitting:
        return f"{apart}fits {_either(fitting)}."
    return _list_broken_cases(observed, dialect)


def _declaration(observed: Sequence[ObservedCase]) -> str:
    """How to declare the dialect, if one of the named profiles is it."""
    for profile in PROFILES.values():
        if all(_is_dialect(profile, case) for case in observed):
            return f" It is the profile {profile.name}: declare it with --profile {profile.name}."
    return " It can be declared with --profile FILE.toml."


def _is_dialect(profile: Profile, observed: ObservedCase) -> bool:
    case = profiled_case(observed.case, profile)
    read = as_expected(profile, case, observed.observations)
    return read == case.expected[: len(read)]


def _caution(bundle: Bundle, observed: Sequence[ObservedCase]) -> str:
    """A part of the cases can look like what the rest of them would rule out."""
    complete = sum(case.is_complete for case in observed)
    if complete == len(bundle.cases):
        return ""
    return (
        f" Only {complete} of the {len(bundle.cases)} cases were observed to the end: the others "
        "may show something else."
    )


def _explains(model: Model, observed: ObservedCase) -> bool:
    return _trace_so_far(model, observed) == observed.observations


def _explains_effects(model: Model, observed: ObservedCase) -> bool:
    pairs = zip(_trace_so_far(model, observed), observed.observations, strict=True)
    return all(classify(differences(expected, actual)) != "effect" for expected, actual in pairs)


def _trace_so_far(model: Model, observed: ObservedCase) -> tuple[Observation, ...]:
    return model.trace(observed.case.steps[: len(observed.observations)])


def _list_broken_cases(observed: Sequence[ObservedCase], dialect: str) -> str:
    broken = ", ".join(case.case.name for case in observed if _has_effect(case))
    finding = f"What was written, or a receipt, is not as promised in {broken}; no single named "
    finding += "fault explains that."
    if any(map(_hides_a_write, observed)):
        finding += " A retry wrote again while its answer named the first write, and so hid it."
    return finding + (f" Besides, status codes differ: {dialect}." if dialect else "")


def _hides_a_write(observed: ObservedCase) -> bool:
    pairs = zip(observed.case.expected, observed.observations, strict=False)
    return any(
        actual.committed_writes > expected.committed_writes
        and actual.receipt is not None
        and actual.receipt == expected.receipt
        for expected, actual in pairs
    )


def _has_effect(observed: ObservedCase) -> bool:
    pairs = zip(observed.case.expected, observed.observations, strict=False)
    return any(classify(differences(expected, actual)) == "effect" for expected, actual in pairs)


def _other_statuses(observed: Sequence[ObservedCase]) -> list[str]:
    """Each way in which only the status code differs, once, in the order of its appearance."""
    found: dict[str, None] = {}
    for case in observed:
        for expected, actual in zip(case.case.expected, case.observations, strict=False):
            if classify(differences(expected, actual)) == "status-only":
                found[f"{_status(actual)} where the contract says {_status(expected)}"] = None
    return list(found)


def _status(observation: Observation) -> str:
    return "no status" if observation.status is None else str(observation.status)


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]} alike"
