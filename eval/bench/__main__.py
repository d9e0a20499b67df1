"""Runs every benchmark and prints the figures as JSON, with the aim beside each."""

import json
import platform
import sys
from typing import Any

from eval.bench import engine, throughput
from serving.worker.cores import available


def main() -> None:
    report: dict[str, Any] = {
        "machine": {"cores": available(), "architecture": platform.machine(), "python": platform.python_version()}
    }
    for name, measure in (
        ("requests_per_second", throughput.measure),
        ("first_token", engine.measure_first_token),
        ("path", engine.measure_path),
    ):
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        report[name] = measure()
    print(json.dumps(report, indent=2))


main()
