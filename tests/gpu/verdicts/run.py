"""One case as a program of its own, to be recorded.

python -m tests.gpu.verdicts.run NAME STEPS
"""

from __future__ import annotations

import argparse
import json

from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.loop import started, us_per_step
from tests.gpu.pairs.pair import Program
from tests.gpu.verdicts.catalogue import case_named


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=case_named)
    parser.add_argument("steps", type=int)
    args = parser.parse_args()
    device = Cuda()
    program = started(lambda: Program(args.case.make()), device)
    print(json.dumps({"us_per_step": us_per_step(program, args.steps, device)}))


if __name__ == "__main__":
    main()
