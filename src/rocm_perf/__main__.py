"""`python -m rocm_perf` is `rocm-perf`."""

import sys

from rocm_perf.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
