"""What is reported of the kits, and of a project that was begun."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..reports.projects import LanguageReport, LanguagesReport, ProjectReport
from .catalogue import Kit
from .project import Plan


def list_languages(kits: Sequence[Kit]) -> LanguagesReport:
    """What `init` can be told."""
    languages = [
        LanguageReport(kit.name, kit.language, kit.tools, kit.missing_tools) for kit in kits
    ]
    http = LanguageReport("http", "any HTTP service", (), ())
    return LanguagesReport("retryproof.languages/1", (*languages, http))


def report_project(plan: Plan, folder: str, written: Sequence[Path]) -> ProjectReport:
    """What was written, and what to do with it."""
    enter = () if folder == "." else (f"cd {shlex.quote(folder)}",)
    return ProjectReport(
        schema="retryproof.init/1",
        language=plan.language,
        files=tuple(map(str, written)),
        next=(
            *enter,
            *plan.build,
            f"retryproof doctor {plan.adapter}",
            f"retryproof run {plan.adapter}",
        ),
        missing_tools=plan.missing_tools,
    )
