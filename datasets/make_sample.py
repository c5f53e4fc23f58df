#!/usr/bin/env python3
"""Cut a small HDF5 file out of a dump, or join the files of a dump. datasets/sample.h5 was made with it.

    python3 datasets/make_sample.py DUMP.h5... -o sample.h5

By default it keeps what the shipped sample has: steps 100 and 400 of workers 0 and 1, without three large tensors.
With --steps all --workers all --exclude '' it keeps everything. The same input and HDF5 library give the same bytes.
Needs h5py and numpy, and torch with --index-from.
"""

import argparse
import fnmatch
import os
import sys
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Optional, Tuple

import h5py

LEFT_OUT = ["layers.7.c?.weight", "layers.8.c1.weight"]
Key = Tuple[int, int, str]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Cut a small HDF5 file out of a dump of gradients.")
    parser.add_argument("dumps", nargs="+", metavar="DUMP.h5")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--steps", default="100,400", help="N,N,... or all (default %(default)s)")
    parser.add_argument("--workers", default="0,1", help="N,N,... or all (default %(default)s)")
    parser.add_argument("--exclude", action="append", metavar="GLOB",
                        help=f"tensors to leave out (default {' '.join(LEFT_OUT)})")
    parser.add_argument("--index-from", metavar="MODULE:CLASS",
                        help="number the tensors as this class of datasets/recipes registers them "
                             "(train_resnet20:ResNet20), if the dump has no index")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="add an attribute to the root")
    parser.add_argument("--force", action="store_true", help="replace an existing output")
    args = parser.parse_args()
    args.exclude = LEFT_OUT if args.exclude is None else [glob for glob in args.exclude if glob]
    if any("=" not in fact for fact in args.set):
        parser.error("--set takes KEY=VALUE")
    args.has_step, args.has_worker = (chooser(parser, text) for text in (args.steps, args.workers))
    return args


def chooser(parser: argparse.ArgumentParser, text: str) -> Callable[[int], bool]:
    if text == "all":
        return lambda number: True
    try:
        chosen = {int(part) for part in text.split(",")}
    except ValueError:
        parser.error(f"'{text}' is neither N,N,... nor all")
    return chosen.__contains__


def typed(text: str):
    """The text as a number if it is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def number_of(name: str, kind: str) -> int:
    if not name.startswith(kind) or not name[len(kind):].isdigit():
        raise ValueError(f"'{name}' is not {kind}N: not the layout of docs/dataset.md")
    return int(name[len(kind):])


def recipe_order(spec: Optional[str]) -> Dict[str, int]:
    if spec is None:
        return {}
    sys.path.insert(0, str(Path(__file__).resolve().parent / "recipes"))
    module, _, kind = spec.partition(":")
    model = getattr(__import__(module), kind)()
    return {name: index for index, (name, _) in enumerate(model.named_parameters())}


def chosen_tensors(file: h5py.File, args: argparse.Namespace) -> Iterable[Tuple[Key, h5py.Dataset]]:
    for step in file.values():
        step_number = number_of(step.name.rsplit("/", 1)[-1], "step_")
        for worker in step.values() if args.has_step(step_number) else ():
            worker_number = number_of(worker.name.rsplit("/", 1)[-1], "worker_")
            for name, dataset in worker.items() if args.has_worker(worker_number) else ():
                if not any(fnmatch.fnmatchcase(name, glob) for glob in args.exclude):
                    yield (step_number, worker_number, name), dataset


def copy_dump(source: h5py.File, target: h5py.File, order: Dict[str, int], args: argparse.Namespace) -> int:
    """Copy the chosen tensors, uncompressed: with small tensors, chunk indices take more than compression saves."""
    for key, value in source.attrs.items():
        target.attrs.setdefault(key, value)
    copied = 0
    for (step, worker, name), dataset in chosen_tensors(source, args):
        group = target.require_group(f"step_{step:06d}")
        for key, value in dataset.parent.parent.attrs.items():
            group.attrs.setdefault(key, value)
        path = f"worker_{worker}/{name}"
        if path in group:
            raise ValueError(f"{source.filename} repeats step {step}, {path}")
        new = group.create_dataset(path, data=dataset[()])
        for key, value in dataset.attrs.items():
            new.attrs[key] = value
        if name in order:
            new.attrs.setdefault("index", order[name])
        copied += 1
    return copied


def make(args: argparse.Namespace) -> None:
    """Write to a temporary file, then rename it to the output. Raises OSError, ValueError."""
    if os.path.exists(args.output) and not args.force:
        raise FileExistsError(f"{args.output} exists; --force replaces it")
    order = recipe_order(args.index_from)
    temporary = args.output + ".tmp"
    left_out: List[str] = args.exclude
    try:
        with h5py.File(temporary, "w") as target:
            target.attrs.update({key: typed(value) for key, _, value in (fact.partition("=") for fact in args.set)})
            copied = 0
            for dump in args.dumps:
                with h5py.File(dump, "r") as source:
                    copied += copy_dump(source, target, order, args)
            if not copied:
                raise ValueError("the dump has no tensor of these steps and workers")
            target.attrs["cut"] = (f"steps {args.steps}, workers {args.workers}"
                                   + (f", without {' '.join(left_out)}" if left_out else ""))
        os.replace(temporary, args.output)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    print(f"{args.output}: {copied} tensors, {os.path.getsize(args.output)} bytes", file=sys.stderr)


if __name__ == "__main__":
    arguments = parse_args()
    try:
        make(arguments)
    except (OSError, ValueError) as error:
        sys.exit(f"make_sample.py: {error}")
