"""The list of methods, and the rows that the command writes."""
import json
import os
from ctypes import byref
from typing import Any, Dict, List, NamedTuple, Optional, Union

from ._library import STATUS, Diag, MethodInfo, check, lib


class Method(NamedTuple):
    name: str
    summary: str
    source: str  # the publication
    promise: str  # what is guaranteed of its error
    parameters: Dict[str, str]  # those that have a meaning with the defaults, and their defaults


def methods() -> List[Method]:
    """All methods of the library. `gcbench methods NAME` explains their parameters."""
    found: List[Method] = []
    info, diag = MethodInfo(), Diag()
    while True:
        status: int = lib.gcb_method_info(byref(info), len(found), byref(diag))
        if STATUS.get(status) == "UNSUPPORTED":
            return found
        check(status, diag)
        pairs = info.spec.decode().partition(":")[2]
        found.append(Method(info.name.decode(), info.summary.decode(), info.source.decode(), info.promise.decode(),
                            dict(pair.split("=", 1) for pair in pairs.split(",") if pair)))


def read(path: Union[str, "os.PathLike[str]"], record: Optional[str] = None, frame: bool = False) -> Any:
    """The rows of a file that --results or --format json wrote (docs/rows.md).

    record  only rows of this kind, such as "result"
    frame   True: a pandas.DataFrame; False: a list of dictionaries
    """
    rows = []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                kind = row["record"]
            except (ValueError, KeyError, TypeError, RecursionError):
                raise ValueError(f"{os.fspath(path)}:{number}: not a row of gcbench; write the file with --results or "
                                 "--format json") from None
            if row.get("schema", 1) != 1:
                raise ValueError(f"{os.fspath(path)}:{number}: its \"schema\" is not 1, the only version that this gcbench reads")
            if record in (None, kind):
                rows.append(row)
    if frame:
        import pandas
        return pandas.DataFrame(rows)
    return rows
