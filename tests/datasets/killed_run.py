"""A run that is killed in the middle of its third file: killed_run.py PREFIX."""

import os
import signal
import sys

import h5py

from support import backward, small_model
from dump_gradients import GradientDumper


def main(prefix):
    model = small_model()
    dumper = GradientDumper(model, prefix, steps="all")
    for step in range(4):
        if step == 2:
            write = h5py.Group.create_dataset

            def half_way(group, name, **options):
                if name == "2.weight":
                    os.kill(os.getpid(), signal.SIGKILL)
                return write(group, name, **options)

            h5py.Group.create_dataset = half_way
        backward(model, step)
        dumper.step()


if __name__ == "__main__":
    main(sys.argv[1])
