"""Tests that need another language's tools: skipped where they are missing, failed in CI."""

import os
import shutil

import pytest
from retryproof.kits.catalogue import Kit


def needs(tool: str) -> pytest.MarkDecorator:
    """Skips on a machine without the tool; in CI nothing is skipped, so that the test fails."""
    missing = shutil.which(tool) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"{tool} is not installed")


needs_node = needs("node")


def require_tools(kit: Kit) -> None:
    """Skips the test where the kit's tools are missing; in CI it fails then."""
    if kit.missing_tools:
        missing = ", ".join(kit.missing_tools)
        reason = f"the kit for {kit.language} needs {missing}, not installed here"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
