"""The decision of the contract retryfuse, or one with a known fault, behind `evaluate`.

    python3 fuse_reference.py [--fault NAME]

It is also a module: `retryproof run --suite retryfuse fuse_reference.py`. To connect your own
decision, see README.md. Fractions must be given as decimal.Decimal, as the host gives them.
"""

import argparse
import hashlib
import json
from decimal import Decimal
from fractions import Fraction

FAULTS = ("blind-retry", "body-blind", "budget-blind", "brake-first", "completed-is-committed")
STATUS = {
    "reject_conflict": "fail",
    "replay_stored": "pass",
    "brake": "fail",
    "reconcile_required": "unknown",
    "replay_safe": "pass",
}
OUTCOMES = ("success", "failure", "timeout", "unknown")
PHASES = ("pre_write", "post_write", "unknown")
HEX = frozenset("0123456789abcdefABCDEF")
LARGEST = Decimal("1.7976931348623157e308")
MAX_ATTEMPTS, MAX_KEY, MAX_DEPTH = 10_000, 255, 100


class MalformedError(ValueError):
    """The input is refused."""


class Request:
    """What the decision looks at, read from a valid input.

    Raises MalformedError for any other.
    """

    def __init__(self, value):
        check_text_and_depth(value, MAX_DEPTH)
        check_members(value, "contractVersion operation attempts priorRecord policy", "the input")
        demand(integer(value.get("contractVersion", 1)) == 1, "contractVersion must be 1")
        self.fingerprint = read_operation(value.get("operation"))
        self.attempts = read_attempts(value.get("attempts", []))
        self.record = None
        if value.get("priorRecord") is not None:
            self.record = read_record(value["priorRecord"])
        policy = value.get("policy", {})
        check_members(policy, "failureThreshold budgetUnits", "policy")
        self.threshold = integer(policy.get("failureThreshold", 5))
        demand(self.threshold is not None and 1 <= self.threshold <= LARGEST, "failureThreshold")
        self.budget = amount(policy.get("budgetUnits", 100), "budgetUnits")


def decisions_of(request, fault=None):
    """The decisions of all rows that apply, in the order of the contract."""
    by_record = list(decisions_by_record(request, fault))
    yield from by_record
    is_confirmed = "replay_stored" in by_record
    if any(may_have_written(attempt, is_confirmed, fault) for attempt in request.attempts):
        yield "reconcile_required"
    if request.attempts and streak(request.attempts) >= request.threshold:
        yield "brake"
    spent = sum(cost for _, _, cost in request.attempts)
    if request.attempts and spent >= request.budget and fault != "budget-blind":
        yield "brake"
    yield "replay_safe"


def decisions_by_record(request, fault):
    if request.record is None:
        return
    status, recorded, committed = request.record
    if fault == "completed-is-committed" and status == "completed":
        committed = True
    comparable = recorded is not None and request.fingerprint is not None
    equal = comparable and recorded == request.fingerprint
    if fault == "body-blind":
        comparable = equal = True
    if comparable and not equal:
        yield "reject_conflict"
    if equal and status == "completed" and committed is True:
        yield "replay_stored"
    if status == "in_flight":
        yield "brake"
    if status is None or not comparable or (status == "completed" and committed is not True):
        yield "reconcile_required"


def may_have_written(attempt, is_confirmed, fault):
    outcome, phase, _ = attempt
    if outcome == "success":
        return not is_confirmed
    return (outcome == "unknown" or phase != "pre_write") and fault != "blind-retry"


def streak(attempts):
    outcomes = [outcome for outcome, _, _ in attempts]
    return outcomes[::-1].index("success") if "success" in outcomes else len(outcomes)


def read_operation(operation):
    """The fingerprint, or None."""
    check_members(operation, "endpoint idempotencyKey requestHash body", "operation")
    demand(is_visible(operation.get("endpoint")), "operation.endpoint must be a string")
    if "idempotencyKey" in operation:
        key = operation["idempotencyKey"]
        demand(is_visible(key) and len(key) <= MAX_KEY, "operation.idempotencyKey")
    given = read_hash(operation, "operation")
    if "body" not in operation:
        return given
    computed = hashlib.sha256(canonical(operation["body"]).encode()).hexdigest()
    demand(given in (None, computed), "operation.requestHash is not that of the body")
    return computed


def read_attempts(attempts):
    demand(isinstance(attempts, list) and len(attempts) <= MAX_ATTEMPTS, "attempts")
    return [read_attempt(attempt) for attempt in attempts]


def read_attempt(attempt):
    check_members(attempt, "outcome phase costUnits", "an attempt")
    outcome, phase = attempt.get("outcome", "unknown"), attempt.get("phase", "unknown")
    demand(outcome in OUTCOMES and phase in PHASES, "an attempt's outcome or phase")
    return outcome, phase, amount(attempt.get("costUnits", 1), "costUnits")


def read_record(record):
    check_members(record, "status requestHash writeCommitted", "priorRecord")
    committed = record.get("writeCommitted", "unknown")
    demand(isinstance(committed, bool) or committed == "unknown", "priorRecord.writeCommitted")
    status = record.get("status")
    demand("status" not in record or status in ("in_flight", "completed"), "priorRecord.status")
    return status, read_hash(record, "priorRecord"), committed


def read_hash(part, place):
    if "requestHash" not in part:
        return None
    given = part["requestHash"]
    is_hash = isinstance(given, str) and len(given) == 64 and HEX.issuperset(given)
    demand(is_hash, place + ".requestHash must be 64 hex digits")
    return given.lower()


def check_members(value, names, place):
    demand(isinstance(value, dict), place + " must be an object")
    for name in value:
        demand(name in names.split(), f"{place} has the member {name!a}")


def check_text_and_depth(value, depth_left):
    if isinstance(value, str):
        demand(not any("\ud800" <= character <= "\udfff" for character in value), "a surrogate")
    if isinstance(value, (dict, list)):
        demand(depth_left > 0, "nested too deeply")
        for child in [*value, *value.values()] if isinstance(value, dict) else value:
            check_text_and_depth(child, depth_left - 1)


def is_visible(value):
    return isinstance(value, str) and value.strip() != ""


def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def integer(value):
    """The integer that a number is, None for any other value."""
    is_whole = is_number(value) and abs(value) <= LARGEST and Fraction(value).denominator == 1
    return int(value) if is_whole else None


def amount(value, place):
    demand(is_number(value) and 0 <= value <= LARGEST, place + " must be a number from 0")
    demand(value == 0 or float(value) > 0, place + " is too small to be a number")
    return value if isinstance(value, int) else Fraction(value)


def canonical(value):
    """The form of RFC 8785. A number that a double would change has none."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return (
            "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if is_number(value):
        return canonical_number(value)
    return json.dumps(value, ensure_ascii=False)


def canonical_number(value):
    """The shortest digits of the double, laid out as ECMAScript does."""
    demand(abs(value) <= LARGEST, "the body has a number that is too large")
    shortest = Decimal(repr(float(value)))
    demand(shortest == value, "the body has a number that a double would change")
    if value == 0:
        return "0"
    _, digits, exponent = shortest.as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + exponent  # Where the point is, counted from the first digit.
    text = text.rstrip("0")
    sign = "-" if value < 0 else ""
    if 0 < point <= 21:
        whole, fraction = text[:point].ljust(point, "0"), text[point:]
        return sign + whole + ("." + fraction if fraction else "")
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + text
    mantissa = text[0] + ("." + text[1:] if text[1:] else "")
    return f"{sign}{mantissa}e{point - 1:+d}"


def demand(condition, message):
    if not condition:
        raise MalformedError(message)


def _fault_from_command_line():
    parser = argparse.ArgumentParser(description="The reference adapter for retryfuse.")
    parser.add_argument("--fault", choices=FAULTS)
    return parser.parse_args().fault


fault = _fault_from_command_line()


def evaluate(value):
    """The first row decides; a brake if that is what the fault looks for first."""
    decisions = list(decisions_of(Request(value), fault))
    decision = decisions[0]
    if fault == "brake-first" and "brake" in decisions:
        decision = "brake"
    return {"decision": decision, "status": STATUS[decision]}


if __name__ == "__main__":
    import host

    name = "retryfuse reference" + (" with " + fault if fault else "")
    host.serve(evaluate=evaluate, name=name)
