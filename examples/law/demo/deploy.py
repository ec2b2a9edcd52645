"""Print that it deploys, or rolls back with `--roll-back`. Replace this with your own deploy."""

import sys

if __name__ == "__main__":
    backwards = "--roll-back" in sys.argv[1:]
    sys.stdout.write("rolled back\n" if backwards else "deployed\n")
