"""The list of methods, and the rows that the command writes."""
import functools
import json
import os
import warnings
from ctypes import byref
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

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


@functools.lru_cache(maxsize=None)
def settings(spec: str) -> Mapping[str, str]:
    """The parameters of a method: those that the text gives, and the defaults of the others."""
    name, _, given = spec.partition(":")
    default = next((method.parameters for method in methods() if method.name == name), {})
    return {**default, **dict(pair.partition("=")[::2] for pair in given.split(",") if pair)}


def remembers(spec: str) -> bool:
    """Whether the method has a memory."""
    return settings(spec).get("memory", "none") != "none"


def forgets(spec: str, **changed: Any) -> bool:
    """Whether the method sends 1 % of the values or less, and forgets the others. `changed` are parameters that a schedule has
    changed."""
    found = {**settings(spec), **changed}
    try:
        share = 1 - float(found.get("theta", 0)) if "theta" in changed or "density" not in found else float(found["density"])
    except ValueError:
        return False  # the library says what is wrong
    return share < 0.01 + 1e-9 and not remembers(spec)


def warn_if_forgets(spec: str, **changed: Any) -> bool:
    if forgets(spec, **changed):
        warnings.warn(f"{spec} sends 1 % of the values or less and forgets the others, so that the training may not converge: "
                      "add memory=ef", stacklevel=3)
        return True
    return False


_DTYPES = {"text": "string", "integer": "Int64", "real": "float64", "bool": "boolean"}  # pandas' names


def _frame(rows: List[Dict[str, Any]]) -> Any:
    import pandas
    fields = json.loads(Path(__file__).with_name("fields.json").read_text(encoding="utf-8"))  # {name: [type, unit]}
    table = pandas.DataFrame(rows, dtype=object)
    known = {name: fields[name] for name in table if name in fields}
    table = table.astype({name: _DTYPES[kind] for name, (kind, _) in known.items() if kind in _DTYPES}).infer_objects()
    table.attrs["units"] = {name: unit for name, (_, unit) in known.items() if unit}
    return table


def read(path: Union[str, "os.PathLike[str]"], record: Optional[str] = None, frame: bool = False) -> Any:
    """The rows of a file that --results or --format json wrote (docs/rows.md).

    record  only rows of this kind, such as "result"
    frame   True: a pandas.DataFrame, whose columns have the types of the fields, and whose attrs["units"] has their units;
            False: a list of dictionaries
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
        return _frame(rows)
    return rows
