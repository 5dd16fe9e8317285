"""`python -m weyl`: the command line, also for several processes: torchrun --nproc_per_node 2 -m weyl embed …"""

import sys

from weyl.cli import main

if __name__ == "__main__":
    sys.exit(main())
