"""The daemon's numbers after runs that are known."""

from prometheus_client.parser import text_string_to_metric_families

from tests.daemon.running import Daemon, endless, quick, zoo
from tests.daemon.test_reports import FAULTY_REFERENCE

ONE_CASE = ["fixed-expiry"]


def numbers(daemon: Daemon) -> dict[str, float]:
    """The value of each sample, by its name and labels."""
    answer = daemon.client.get("/metrics")
    assert answer.status_code == 200
    return {
        " ".join([sample.name.removeprefix("retryproof_"), *map(str, sample.labels.values())]): (
            sample.value
        )
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_runs_are_counted() -> None:
    with Daemon("--jobs", "1") as daemon:
        start = numbers(daemon)
        assert set(start.values()) == {0.0}
        submissions = [
            quick(cases=ONE_CASE),
            quick(cases=ONE_CASE),
            {"adapter": {"command": FAULTY_REFERENCE, "cwd": "/"}, "cases": ONE_CASE},
            zoo("step2=hang-with-children:3", cases=ONE_CASE, limits={"callSeconds": 0.25}),
            zoo("step2=exit-with:3", cases=ONE_CASE),
        ]
        for submission in submissions:
            daemon.wait_until_over(daemon.submit(submission)["id"])
        running = daemon.submit(endless(cases=ONE_CASE))["id"]
        daemon.wait_for_call(running)
        waiting = daemon.submit(quick())["id"]
        found = numbers(daemon)
        assert (found["running_runs"], found["queued_runs"]) == (1, 1)
        daemon.cancel(waiting)
        daemon.cancel(running)
        daemon.wait_until_over(running)
        found = numbers(daemon)
    assert (found["running_runs"], found["queued_runs"]) == (0, 0)
    # The run that was cancelled in its middle counts, the one that never began does not.
    assert found["verdicts_total pass"] == 2
    assert found["verdicts_total fail"] == 1
    assert found["verdicts_total incomplete"] == 3
    assert (found["kills_total timeout"], found["kills_total interrupted"]) == (1, 1)
    assert "kills_total crash" not in found
    assert found["leaks_total"] == 3
    assert found["deadline_overshoot_seconds_count"] == 1
    assert 0 < found["deadline_overshoot_seconds_sum"] < 5
    assert found["deadline_overshoot_seconds_bucket +Inf"] == 1
