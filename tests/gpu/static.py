"""Lists registers, stack and instructions of the compiled kernels. Nothing is run on a GPU.

    python3 static.py MODULE [--arch 90] [--check] [--loops] [KERNEL...]

A KERNEL is a name with or without template arguments, or a source such as range_cuda.cu. Without one, all are listed.

Registers and stack frames are read from the module. If nvdisasm is installed (NVIDIA's toolkit has it, and a package
of that name), instructions are counted too, along the path of a thread with a full tile: the shortest path from the
kernel's start over its widest loads, and over the most conversions to an integer, to its end. Loops on the path count
once, and steps that a thread may skip are left out, so the count is a lower bound; --loops lists the loops. Elements
are the floats that the path reads or writes, whichever are more.

--check: exit status 1 if a kernel has more local memory (spills, or arrays on the stack) than is listed here, or so
many registers that fewer than 24 warps fit on a multiprocessor or a block cannot have the threads of its launch
bounds. 77 if there is no module.
"""
import argparse
import difflib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# Most bytes of local memory of kernels that use it. 80: a thread's 16 gaps or codes, in loops that
# are too long to be unrolled.
ON_STACK = {
    "encode_blocks": 208,  # 16 elements, their codes and decoded values
    "make_adaptive_codes": 1216,  # adaptive's code lengths: one block per message
    "measure_blocks": 80,
    "put_blocks": 80,
    "put_gaps": 80,
}
MOST_REGISTERS = 80  # 65536 / (24 warps of 32), rounded down to eights
# Kernels with more registers: they run rarely, in one block only, or could be improved.
MANY_REGISTERS = {
    "sum_tiles<block_tile>": 104,  # block floats
    "strided_pass": 96,  # hadamard of long messages
    "read_tables": 144,  # one block per message
    "tile_pass": 96,  # hadamard
}

# ---- the module's cubins ----


def sections(elf):
    at, size, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    text = rows[names]
    for row in rows:
        start = text[4] + row[0]
        yield elf[start : elf.index(b"\0", start)].decode(), row


def cubin_at(data, at):
    """The ELF file at `at`. Its last bytes are section headers, program headers or a section."""
    head = struct.unpack_from("<QQIHHHHHH", data, at + 32)
    end = max(head[1] + head[6] * head[7], head[0] + head[4] * head[5])
    elf = data[at:]
    for _, row in sections(elf):
        if row[1] != 8:  # NOBITS
            end = max(end, row[4] + row[5])
    return elf[:end]


def cubins(path, arch):
    with open(path, "rb") as f:
        data = f.read()
    at = data.find(b"\x7fELF")
    while at >= 0:
        machine, = struct.unpack_from("<H", data, at + 18)
        flags, = struct.unpack_from("<I", data, at + 48)
        if machine == 190 and arch in (flags >> 8 & 0xFF, flags & 0xFF):
            yield cubin_at(data, at)
        at = data.find(b"\x7fELF", at + 4)


def attributes(info):
    """(attribute, payload) for each entry of a .nv.info section."""
    at = 0
    while at + 4 <= len(info):
        form, what, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:
            yield what, info[at : at + size]
            at += size


def kernels(elf):
    """name -> {registers, stack, threads}; threads are the most of a block, if the kernel has launch bounds"""
    found = {}
    rows = list(sections(elf))
    table = {name: row for name, row in rows}
    symbols, names = table[".symtab"], rows[table[".symtab"][6]][1]
    info = table[".nv.info"]

    def name_of(index):
        start = names[4] + struct.unpack_from("<I", elf, symbols[4] + 24 * index)[0]
        return elf[start : elf.index(b"\0", start)].decode()

    for what, value in attributes(elf[info[4] : info[4] + info[5]]):
        if what in (0x11, 0x2F):  # EIATTR_FRAME_SIZE, EIATTR_REGCOUNT
            index, amount = struct.unpack("<II", value)
            fact = found.setdefault(name_of(index), {"stack": 0, "registers": 0, "threads": 0})
            fact["stack" if what == 0x11 else "registers"] = amount
    for name, row in rows:
        if name.startswith(".nv.info.") and name[9:] in found:
            for what, value in attributes(elf[row[4] : row[4] + row[5]]):
                if what == 0x05:  # EIATTR_MAX_THREADS
                    x, y, z = struct.unpack("<III", value)
                    found[name[9:]]["threads"] = x * y * z
    return found


def most_registers(name, fact):
    """Most registers per thread with which a block can have this number of threads."""
    most = MANY_REGISTERS.get(name, MANY_REGISTERS.get(re.sub("<.*", "", name), MOST_REGISTERS))
    return min(most, 65536 // fact["threads"] // 8 * 8) if fact["threads"] else most


def without_arguments(name):
    """encode<single, 2>(...) without the arguments in parentheses."""
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return name[:at]
    return name


def plain(names):
    """The name as in the source: without unnamed namespaces, types of constants, and arguments."""
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    text = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True).stdout if tool else "\n".join(names)
    out = {}
    for raw, name in zip(names, text.split("\n")):
        name = re.sub(r"\(anonymous namespace\)::|^void |gcb::", "", name)
        out[raw] = without_arguments(re.sub(r"\([\w ]+\)(?=-?\d)", "", name)).replace("> >", ">>")
    return out


def source_of(raw):
    """The file in whose unnamed namespace the kernel is; empty if it is in none."""
    m = re.search(r"_GLOBAL__N__[0-9a-f]+_\d+_(\w+?)_cu_[0-9a-f]{8}", raw)
    return m.group(1) + ".cu" if m else ""


# ---- instructions ----

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?);")


def disassemble(elf):
    """kernel -> [(address or label, predicate, opcode, operands)]"""
    tool = shutil.which("nvdisasm")
    if not tool:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as f:
        f.write(elf)
        f.flush()
        text = subprocess.run([tool, "-c", f.name], capture_output=True, text=True, check=True).stdout
    code, current = {}, None
    for line in text.split("\n"):
        if line.startswith(".text."):
            current = code.setdefault(line[6:].rstrip(":"), [])
        elif current is not None and re.match(r"^\.L_x_\d+:", line):
            current.append((line.rstrip(":"), "", "", ""))
        elif current is not None and (m := LINE.match(line)):
            current.append(m.groups(default=""))
    return code


def blocks_of(code):
    """The basic blocks with the numbers of their successors: [(instructions, [next])]"""
    labels, starts = {}, {0}
    flat = []
    for at, predicate, op, rest in code:
        if not op:
            labels[at] = len(flat)
            starts.add(len(flat))
            continue
        flat.append((predicate, op, rest))
        if op.split(".")[0] in ("BRA", "BRX", "EXIT", "BREAK", "RET", "CALL"):
            starts.add(len(flat))
    order = sorted(s for s in starts if s < len(flat))
    number = {s: i for i, s in enumerate(order)}
    blocks = []
    for i, start in enumerate(order):
        end = order[i + 1] if i + 1 < len(order) else len(flat)
        predicate, op, rest = flat[end - 1]
        go = []
        if op.split(".")[0] in ("BRA", "BRX"):  # nvdisasm lists the targets of BRX
            go += sorted({number[labels[t]] for t in re.findall(r"\.L_x_\d+", rest) if labels[t] < len(flat)})
        ends = op.split(".")[0] in ("BRA", "BRX", "EXIT") and not predicate and "P" not in rest.split("`")[0].split(",")[0]
        if not ends and i + 1 < len(order):
            go.append(i + 1)
        blocks.append((flat[start:end], go))
    return blocks


def width(op):
    m = re.search(r"\.(128|64|U8|S8|U16|S16)\b", op)
    return {"128": 16, "64": 8, "U8": 1, "S8": 1, "U16": 2, "S16": 2}[m.group(1)] if m else 4


def moved(part, kind):
    return sum(width(op) for _, op, _ in part if op.startswith(kind))


def far(blocks, kind):
    """The first block whose accesses of this kind move most, with wide accesses counting more; None if there are none."""
    best = max(((sum(width(op) ** 2 for _, op, _ in part if op.startswith(kind)), -i) for i, (part, _) in enumerate(blocks)))
    return -best[1] if best[0] else None


def conversions(blocks):
    """Conversions to an integer in each block: those of codes, or if there are none, those of integer divisions (F2I.FTZ)."""
    ops = [[op for _, op, _ in part if op.startswith("F2I")] for part, _ in blocks]
    codes = [sum(".FTZ" not in op for op in some) for some in ops]
    return codes if any(codes) else [len(some) for some in ops]


def best(blocks, makes, start, goal):
    """The path after block `start` to block `goal` (None: to an end), forward only, with the most conversions; of several
    such paths, the one with the fewest instructions."""
    cost = {start: (0, 0, None)}
    for i in range(start, len(blocks)):
        if i not in cost:
            continue
        for j in blocks[i][1]:
            part = blocks[j][0]
            total = (cost[i][0] - makes[j], cost[i][1] + len(part))
            if j > i and (j not in cost or total < cost[j][:2]):
                cost[j] = (*total, i)
    ends = [goal] if goal is not None else [
        i for i, (part, _) in enumerate(blocks) if part[-1][1] == "EXIT"]
    ends = [e for e in ends if e in cost]
    if not ends:
        return None
    at, path = min(ends, key=lambda e: cost[e][:2]), []
    while at != start:
        path.append(at)
        at = cost[at][2]
    return path[::-1]


def hot_path(blocks):
    """The instructions of the path over the widest loads and the conversions to an integer (where codes are made) to the
    end. If that path has no stores, it also goes over the widest stores."""
    makes = conversions(blocks)
    stores = any(op.startswith("STG") for part, _ in blocks for _, op, _ in part)
    for kinds in (("LDG",), ("LDG", "STG"), ("STG",)):
        path = [0]
        for goal in sorted({far(blocks, k) for k in kinds} - {None}) + [None]:
            path += (best(blocks, makes, path[-1], goal) or []) if goal != path[-1] else []
        ops = [one for b in path for one in blocks[b][0]]
        if ops[-1][1] == "EXIT" and moved(ops, "LDG") + moved(ops, "STG") and (moved(ops, "STG") or not stores):
            return ops
    return None


def elements(path):
    """Floats that the path reads or writes by its widest accesses."""
    most = 0
    for kind in ("LDG", "STG"):
        for w in (16, 8, 4):
            most = max(most, sum(w for _, op, _ in path if op.startswith(kind) and width(op) == w))
            if most and w == 16:
                break
    return most / 4


def share(ops):
    """Number of instructions for each unit that takes fewer of them per clock than the main pipeline."""
    count = {"f64": 0, "wide": 0, "sfu": 0, "shared": 0, "local": 0}
    for _, op, _ in ops:
        base = op.split(".")[0]
        count["f64"] += base in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX") or (base in ("F2F", "I2F", "F2I") and "64" in op)
        count["wide"] += base == "IMAD" and (".WIDE" in op or ".HI" in op)
        count["sfu"] += base in ("MUFU", "POPC", "FLO", "I2F", "F2I", "F2F", "BREV")
        count["shared"] += base in ("LDS", "STS", "ATOMS")
        count["local"] += base in ("LDL", "STL")
    return count


def loops_of(blocks):
    for i, (_, go) in enumerate(blocks):
        for j in go:
            if j <= i:
                yield [one for b in range(j, i + 1) for one in blocks[b][0]]


HEADING = """%s, sm_%d: as compiled, nothing was run
source: "-" if the name does not tell it; regs, stack: registers, and bytes of local memory, per thread"""
COUNTED = """instr, elem: instructions on the path of a thread with a full tile, and floats that it reads or writes; each: instr / elem,
and the parts of it that are wide multiplications, on doubles, by the special unit, on shared memory; local: accesses
to local memory; loads, stores: bytes per access. Loops count once, and optional steps not at all: a lower bound
(docs/gpu.md)"""
COLUMNS = "%-*s %-22s %4s %5s"
COUNTS = "  %5s %4s %6s %5s %5s %5s %6s %5s  %s"


def arguments():
    parser = argparse.ArgumentParser(prog="static.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--loops", action="store_true")
    given = parser.parse_intermixed_args()
    if given.loops and not shutil.which("nvdisasm"):
        parser.error("--loops needs nvdisasm (NVIDIA's toolkit has it, and a package nvidia-cuda-nvdisasm)")
    return given


def names_of(row):
    return {row[0], re.sub("<.*", "", row[0]), row[1]}


def wanted(rows, kernels):
    """The rows with these names, or all rows without names. An unknown name ends the program."""
    known = set().union(*map(names_of, rows)) - {""}
    for kernel in kernels:
        if kernel not in known:
            near = difflib.get_close_matches(kernel, sorted(known), 1)
            print("static.py: no kernel or source '%s'%s" % (
                kernel, "; did you mean '%s'?" % near[0] if near else "; without a name all are listed"), file=sys.stderr)
            sys.exit(2)
    return [row for row in rows if not kernels or names_of(row) & set(kernels)]


def counts_of(path):
    count, c = elements(path), share(path)
    each = [c[k] / max(count, 1) for k in ("wide", "f64", "sfu", "shared")]
    accesses = ["%s %s" % (words, " ".join(str(width(op)) for _, op, _ in path if op.startswith(kind)))
                for words, kind in (("loads", "LDG"), ("stores", "STG"))]
    return COUNTS % (len(path), "%d" % count, "%.1f" % (len(path) / max(count, 1)), *("%.1f" % e for e in each), c["local"],
                     " ".join(accesses))


def show(rows, given):
    counted = any(blocks for *_, blocks in rows)
    wide = max(len("kernel"), *(len(row[0]) for row in rows))
    print(HEADING % (given.module, given.arch))
    if counted:
        print(COUNTED)
    print("\n" + (COLUMNS % (wide, "kernel", "source", "regs", "stack") + (COUNTS % (
        "instr", "elem", "each", "wide", "f64", "sfu", "shared", "local", "loads, stores") if counted else "")))
    for name, source, fact, blocks in rows:
        path = hot_path(blocks) if blocks else None
        print(COLUMNS % (wide, name, source or "-", fact["registers"], fact["stack"]) + (counts_of(path) if path else ""))
        for loop in loops_of(blocks) if blocks and given.loops else ():
            print("    loop of %3d: loads %3d B, stores %3d B, %s" % (
                len(loop), moved(loop, "LDG"), moved(loop, "STG"), share(loop)))


def check(rows, arch):
    """Prints what is too much; returns the exit status."""
    bad = []
    for name, _, fact, _ in rows:
        family = re.sub("<.*", "", name)
        if fact["stack"] > ON_STACK.get(family, 0):
            bad.append("%s keeps %d bytes in local memory" % (name, fact["stack"]))
        if fact["registers"] > most_registers(name, fact):
            bad.append("%s has %d registers" % (name, fact["registers"]))
    print("%d kernels for sm_%d" % (len(rows), arch))
    print("\n".join(bad), file=sys.stderr, end="\n" if bad else "")
    return bool(bad)


def main():
    given = arguments()
    if not os.path.exists(given.module):
        print("skipped: there is no CUDA module (no nvcc when this was configured)")
        sys.exit(77)
    rows = []
    for elf in cubins(given.module, given.arch):
        facts, code = kernels(elf), {} if given.check else disassemble(elf)
        names = plain(list(facts))
        for raw, fact in facts.items():
            if not raw.startswith("$"):  # a part of another function, with the frame of its caller
                rows.append((names[raw], source_of(raw), fact, blocks_of(code[raw]) if raw in code else None))
    if not rows:
        sys.exit("static.py: %s has no kernel for sm_%d" % (given.module, given.arch))
    rows.sort(key=lambda row: row[:2])
    if given.check:
        sys.exit(check(rows, given.arch))
    show(wanted(rows, given.kernels), given)


main()
