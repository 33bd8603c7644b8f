"""Tests that need another language's tools: skipped where they are missing, failed in CI."""

import os
import shutil

import pytest


def needs(tool: str) -> pytest.MarkDecorator:
    """Skips on a machine without the tool; in CI nothing is skipped, so that the test fails."""
    missing = shutil.which(tool) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"{tool} is not installed")


needs_node = needs("node")
