"""The zoo's adapter, but it answers its second step once a file is there: gated.py FAULTY FILE."""

import importlib.util
import os
import sys
import time


def wait_for_file(line, name):  # type: ignore[no-untyped-def]
    while not os.path.exists(name):
        time.sleep(0.01)
    return line


faulty, gate = sys.argv[1:]
specification = importlib.util.spec_from_file_location("faulty", faulty)
assert specification is not None
assert specification.loader is not None
adapter = importlib.util.module_from_spec(specification)
specification.loader.exec_module(adapter)
adapter.wait_for_file = wait_for_file  # type: ignore[attr-defined]
sys.argv = [faulty, f"step2=wait-for-file:{gate}"]
adapter.main()
