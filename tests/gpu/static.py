"""Lists registers and stack frames of the compiled kernels, which are read from the module. Nothing is run on a GPU.

    python3 static.py MODULE [--arch 90] [--check] [KERNEL...]

A KERNEL is a name with or without template arguments, or a source such as range_cuda.cu. Without one, all are listed.

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

# Most bytes of local memory of kernels that use it. 80: a thread's 16 gaps or codes, in loops that
# are too long to be unrolled.
ON_STACK = {
    "make_adaptive_codes": 1216,  # adaptive's code lengths: one block per message
    "measure_blocks": 80,
    "put_blocks": 80,
    "put_gaps": 80,
}
MOST_REGISTERS = 80  # 65536 / (24 warps of 32), rounded down to eights
# Kernels with more registers: they run rarely, in one block only, or could be improved.
MANY_REGISTERS = {
    "sum_tiles<block_tile>": 104,  # block floats
    "encode_blocks<message_group, 1, false>": 128,  # integers in groups
    "encode_blocks<message_group, 1, true>": 128,
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


HEADING = """%s, sm_%d: as compiled, nothing was run
source: "-" if the name does not tell it; regs, stack: registers, and bytes of local memory, per thread"""
COLUMNS = "%-*s %-22s %4s %5s"


def arguments():
    parser = argparse.ArgumentParser(prog="static.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--check", action="store_true")
    return parser.parse_intermixed_args()


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


def show(rows, given):
    wide = max(len("kernel"), *(len(row[0]) for row in rows))
    print(HEADING % (given.module, given.arch))
    print("\n" + COLUMNS % (wide, "kernel", "source", "regs", "stack"))
    for name, source, fact in rows:
        print(COLUMNS % (wide, name, source or "-", fact["registers"], fact["stack"]))


def check(rows, arch):
    """Prints what is too much; returns the exit status."""
    bad = []
    for name, _, fact in rows:
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
        facts = kernels(elf)
        names = plain(list(facts))
        for raw, fact in facts.items():
            if not raw.startswith("$"):  # a part of another function, with the frame of its caller
                rows.append((names[raw], source_of(raw), fact))
    if not rows:
        sys.exit("static.py: %s has no kernel for sm_%d" % (given.module, given.arch))
    rows.sort(key=lambda row: row[:2])
    if given.check:
        sys.exit(check(rows, given.arch))
    show(wanted(rows, given.kernels), given)


main()
