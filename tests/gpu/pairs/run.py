"""One variant of a pair as a program of its own, to be recorded.

python -m tests.gpu.pairs.run NAME STEPS [--after]
"""

from __future__ import annotations

import argparse
import json
from functools import partial

from tests.gpu.pairs.catalogue import pair_named
from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.loop import started, us_per_step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pair", type=pair_named)
    parser.add_argument("steps", type=int)
    parser.add_argument("--after", action="store_true")
    args = parser.parse_args()
    device = Cuda()
    program = started(partial(args.pair.make, args.after), device)
    print(json.dumps({"us_per_step": us_per_step(program, args.steps, device)}))


if __name__ == "__main__":
    main()
