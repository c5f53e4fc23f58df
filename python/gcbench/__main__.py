"""The command: `python -m gcbench`, and the script `gcbench` of the wheel."""
import os
import sys

from ._library import find_command


def main() -> None:
    command = find_command()
    try:
        os.execvp(command, ["gcbench", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"gcbench: cannot run the command {command}: {error.strerror}; install the wheel, or set GCBENCH_COMMAND")


if __name__ == "__main__":
    main()
