"""HANG: the seconds after which a test may call something a hang. ./dev sets the factor from the machine's load and processors."""
import os

HANG = 60 * int(os.environ.get("GCBENCH_TEST_PATIENCE") or 1)
