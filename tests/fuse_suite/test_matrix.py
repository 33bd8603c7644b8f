"""The matrix as a suite: what can be sent is sent to the letter, and the rest is accounted for."""

import json
from decimal import Decimal
from typing import Any

import msgspec
from retryproof import app
from retryproof.fuse.matrix import CATEGORIES, REFUSED, load_matrix
from retryproof_protocol.framing import MAX_LINE_BYTES
from retryproof_protocol.strictjson import StrictJSONError, decode

from tests.fuse.matrix import CASES as FILES
from tests.fuse_suite.driving import CASES, MATRIX

ENVELOPE_BYTES = 100


def exactly(data: bytes) -> Any:
    return json.loads(data, parse_float=Decimal)


def is_json(data: bytes) -> bool:
    try:
        decode(data)
    except StrictJSONError:
        return False
    return True


def test_every_case_is_sent_or_said_to_be_none_that_can_be() -> None:
    assert set(MATRIX.unsendable) == {case.name for case in FILES if not is_json(case.data)}
    assert set(CASES) == {case.name for case in FILES} - set(MATRIX.unsendable)
    assert len(MATRIX.unsendable) > 40


def test_what_is_sent_is_the_input_to_the_last_digit_on_one_line() -> None:
    for file in FILES:
        if file.name in CASES:
            sent = CASES[file.name].input
            assert exactly(sent) == exactly(file.data)
            assert not {10, 13} & set(sent)
            assert len(sent) < MAX_LINE_BYTES - ENVELOPE_BYTES


def test_malformed_inputs_are_to_be_refused_and_no_others() -> None:
    for file in FILES:
        if file.name in CASES:
            expected = CASES[file.name].expected
            assert (expected == REFUSED) == (file.document["category"] == "malformed")
            if expected != REFUSED:
                assert (expected.decision, expected.status) == (
                    file.expected["decision"],
                    file.expected["status"],
                )


def test_the_order_is_that_of_the_categories_and_names_whatever_that_of_the_files() -> None:
    contents = [file.path.read_bytes() for file in FILES]

    forwards, backwards = load_matrix(contents), load_matrix(reversed(contents))

    assert forwards == backwards == MATRIX
    places = [(CATEGORIES.index(case.category), case.name) for case in MATRIX.cases]
    assert places == sorted(places)


def test_the_document_has_every_case_to_the_last_digit() -> None:
    document = exactly(msgspec.json.encode(app.fuse_matrix().document))

    assert document["digest"] == MATRIX.digest
    assert len(document["cases"]) == len(FILES)
    by_name = {file.name: file for file in FILES}
    for case in document["cases"]:
        assert case == exactly(by_name[case["name"]].path.read_bytes())


def test_the_digest_follows_every_change() -> None:
    changed = [file.path.read_bytes() for file in FILES]
    changed[0] = changed[0].replace(b'"order-1001"', b'"order-1002"')

    assert changed[0] != FILES[0].path.read_bytes()
    assert load_matrix(changed).digest != MATRIX.digest
