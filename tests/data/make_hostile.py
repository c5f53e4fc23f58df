#!/usr/bin/env python3
"""Writes HDF5 files that are hostile, damaged or unusual, and a manifest of the expected results.

    make_hostile.py DIRECTORY

manifest.tsv has: file, status of opening, number of tensors, number of skipped datasets, status of reading all tensors,
and a text that the message of the failure must contain ("-": none). Statuses are those of enum gcb_status, in words.
"""
import os
import struct
import sys
import zlib

import h5py
import numpy as np

ROWS = []
CASES = []
HERE = None


def case(name, status="ok", tensors=0, skipped=0, read="ok", words="-"):
    """Registers a function that fills the file `name`."""

    def register(fill):
        CASES.append((name, fill))
        ROWS.append((name, status, tensors, skipped, read, words))
        return fill

    return register


def hdf5(fill):
    """Gives the function an open file instead of a path."""

    def wrapped(path):
        with h5py.File(path, "w") as file:
            fill(file)

    return wrapped


def patch(path, old, new, at=0):
    """Writes `new` at `at` bytes after the start of `old`, which must occur exactly once."""
    data = bytearray(open(path, "rb").read())
    first = data.find(old)
    if first < 0 or data.find(old, first + 1) >= 0:
        raise SystemExit(f"{path}: the bytes to patch do not occur exactly once")
    data[first + at:first + at + len(new)] = new
    open(path, "wb").write(data)


def patched(make, pattern, new, at=0):
    def wrapped(path):
        hdf5(make)(path)
        found = pattern(path) if callable(pattern) else pattern
        patch(path, found, new, at)

    return wrapped


def ramp(n, dtype="f4"):
    return (np.arange(n) - n / 2).astype(dtype)


def low_level(file, name, shape, dcpl, dtype="<f4"):
    space = h5py.h5s.create_simple(shape)
    return h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, dcpl)


def plist(chunk=None):
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if chunk:
        dcpl.set_chunk(chunk)
    return dcpl


# Links and groups

@case("external_link.h5", "unsupported", words="--allow-external")
@hdf5
def _(f):
    f["x"] = ramp(8)
    f["out"] = h5py.ExternalLink("/etc/hostname", "/x")


@case("soft_dangling.h5", tensors=1, skipped=1)
@hdf5
def _(f):
    f["x"] = ramp(8)
    f["gone"] = h5py.SoftLink("/nowhere/at/all")


@case("soft_cycle.h5", tensors=2, skipped=2)
@hdf5
def _(f):
    f["x"] = ramp(8)
    f["a"] = h5py.SoftLink("/b")
    f["b"] = h5py.SoftLink("/a")
    f["again"] = h5py.SoftLink("/x")


@case("group_cycle.h5", tensors=1, skipped=2)
@hdf5
def _(f):
    inner = f.create_group("a/b/c")
    inner["x"] = ramp(8)
    inner["up"] = f["a"]
    f["a/root"] = f["/"]


@case("group_doubling.h5", "corrupt", words="too many ways")
@hdf5
def _(f):
    at = f
    for _ in range(40):  # 2^40 ways to the dataset
        down = at.create_group("l")
        at["r"] = down
        at = down
    at["x"] = ramp(8)


@case("group_mesh.h5", "corrupt", words="too many ways")
@hdf5
def _(f):
    groups = [f.create_group(f"g{i}") for i in range(30)]
    for a in groups:  # 30! ways through the groups, and no dataset in them
        for i, b in enumerate(groups):
            a[f"to{i}"] = b
    f["x"] = ramp(8)


@case("group_chain.h5", tensors=4 * 200 - 6, skipped=200 - 4)
@hdf5
def _(f):
    before = None
    for i in range(200):  # each step has a link to the one before, which is followed three times
        step = f.create_group(f"step_{i}")
        step["x"] = ramp(8)
        if before:
            step["before"] = before
        before = step


@case("soft_mesh.h5", "corrupt", words="too many ways")
@hdf5
def _(f):
    for i in range(40):
        for j in range(40):
            f[f"g{i}/to{j}"] = h5py.SoftLink(f"/g{j}")
    f["x"] = ramp(8)


@case("two_names.h5", tensors=2)
@hdf5
def _(f):
    f["b"] = ramp(8)
    f["a"] = f["b"]


def _user_link(f):
    f["x"] = ramp(8)
    f["linked"] = h5py.ExternalLink("y.h5", "/y")


case("user_link.h5", "unsupported", words="user-defined link")(
    patched(_user_link, b"\x40\x06linked", b"\x41"))


@case("deep.h5", "corrupt", words="more than 64 deep")
@hdf5
def _(f):
    at = f
    for _ in range(200):
        at = at.create_group("g")
    at["x"] = ramp(8)


@case("nested.h5", tensors=1)
@hdf5
def _(f):
    f["/".join("g" * 50) + "/x"] = ramp(8)


@case("many.h5", tensors=5000, skipped=5000)
@hdf5
def _(f):
    for i in range(5000):
        f.create_dataset(f"f{i}", data=ramp(2))
        f.create_dataset(f"i{i}", data=np.arange(2))


@case("empty_groups.h5", "corrupt", words="no float data")
@hdf5
def _(f):
    for i in range(100):
        f.create_group(f"step_{i}/worker_0")


# Names

@case("names.h5", tensors=6)
@hdf5
def _(f):
    f["line\nbreak"] = ramp(4)
    f["bell\a\x1b[31m"] = ramp(4)
    f["tab\tquote\"'`$(x)"] = ramp(4)
    f["\u202egnirts"] = ramp(4)
    f["=1+1"] = ramp(4)
    low_level(f, "plain", (4,), plist())
    f.id.move(b"plain", b"bad\xff\xfeutf8")


@case("names_in_words.h5", "unsupported", words="evil\\x0a\\x1b[2Jname")
@hdf5
def _(f):
    f["evil\n\x1b[2Jname"] = h5py.ExternalLink("y.h5", "/y")


@case("long_name.h5", "corrupt", words="longer than 1024 bytes")
@hdf5
def _(f):
    f["n" * 3000] = ramp(4)


@case("long_ok.h5", tensors=1)
@hdf5
def _(f):
    f["n" * 1000] = ramp(4)


def _slash(f):
    f["quitedistinct_name"] = ramp(4)


case("slash_name.h5", "corrupt", words="impossible name")(
    patched(_slash, b"quitedistinct_name", b"/", 13))


def _dot(f):
    f["quitedistinct_name"] = ramp(4)


case("dot_name.h5", "corrupt", words="impossible name")(
    patched(_dot, b"quitedistinct_name", b".\0", 0))


# Storage

@case("external_storage.h5", "unsupported", words="another file")
@hdf5
def _(f):
    dcpl = plist()
    dcpl.set_external(b"/etc/passwd", 0, 64)
    low_level(f, "x", (16,), dcpl)


@case("virtual.h5", "unsupported", words="virtual")
@hdf5
def _(f):
    layout = h5py.VirtualLayout(shape=(8,), dtype="f4")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(8,))
    f.create_virtual_dataset("x", layout)


@case("virtual_integers.h5", tensors=1, skipped=2)
@hdf5
def _(f):
    layout = h5py.VirtualLayout(shape=(8,), dtype="i4")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(8,))
    f.create_virtual_dataset("v", layout)
    dcpl = plist()
    dcpl.set_external(b"/etc/passwd", 0, 64)
    low_level(f, "e", (16,), dcpl, "<i4")
    f["x"] = ramp(8)


# Sizes

@case("absurd.h5", "corrupt", words="declares")
@hdf5
def _(f):
    f.create_dataset("x", shape=(10**18,), dtype="f4")


@case("absurd_chunks.h5", "corrupt", words="declares")
@hdf5
def _(f):
    x = f.create_dataset("x", shape=(10**9, 10**8), chunks=(100, 100), dtype="f4", compression="gzip")
    x[:100, :100] = 1


@case("overflow.h5", "corrupt", words="larger than any memory")
@hdf5
def _(f):
    low_level(f, "x", (2**40, 2**40), plist((16, 16)))


@case("hollow.h5", "corrupt", words="stores 0")
@hdf5
def _(f):
    f.create_dataset("x", shape=(1 << 20,), dtype="f4")


@case("unwritten_small.h5", tensors=1)
@hdf5
def _(f):
    f.create_dataset("x", shape=(1000,), dtype="f4", fillvalue=2.5)


@case("bomb.h5", "corrupt", words="declares")
@hdf5
def _(f):
    x = f.create_dataset("x", shape=(1 << 26,), chunks=(1 << 18,), dtype="f4", compression="gzip")
    x[:1 << 22] = 0  # the other chunks are not even there


@case("zeros.h5", tensors=1)
@hdf5
def _(f):
    f.create_dataset("x", data=np.zeros(1 << 22, "f4"), chunks=(1 << 18,), compression="gzip",
                     compression_opts=9)


@case("twice_deflated.h5", "corrupt", words="filter is applied twice")
@hdf5
def _(f):
    dcpl = plist((1 << 18,))
    dcpl.set_deflate(9)
    dcpl.set_filter(1, 0, (9,))
    low_level(f, "x", (1 << 18,), dcpl).write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(1 << 18, "f4"))


@case("inflating_chunk.h5", tensors=1, read="corrupt", words="does not unpack")
@hdf5
def _(f):
    x = f.create_dataset("x", shape=(1024,), chunks=(1024,), dtype="f4", compression="gzip")
    x.id.write_direct_chunk((0,), zlib.compress(bytes(1 << 26), 9))


@case("short_chunk.h5", tensors=1, read="corrupt", words="does not unpack")
@hdf5
def _(f):
    x = f.create_dataset("x", shape=(1 << 16,), chunks=(1 << 16,), dtype="f4", compression="gzip")
    x.id.write_direct_chunk((0,), zlib.compress(os.urandom(1024), 9))


@case("huge_chunk.h5", "unsupported", words="256 MiB")
@hdf5
def _(f):
    x = f.create_dataset("x", shape=(16,), maxshape=(None,), chunks=(1 << 27,), dtype="f4",
                         compression="gzip")


@case("tiny_chunks.h5", tensors=1)
@hdf5
def _(f):
    f.create_dataset("x", data=ramp(6000).reshape(2, 3000), chunks=(1, 1))


# Shapes

@case("shapes.h5", tensors=6)
@hdf5
def _(f):
    f["scalar"] = np.float32(1.5)
    f["empty"] = np.zeros((0,), "f4")
    f["hollow"] = np.zeros((3, 0, 5), "f4")
    f["null"] = h5py.Empty("f4")
    f["rank10"] = ramp(1024).reshape((2,) * 10)
    f.create_dataset("chunked_empty", shape=(0,), maxshape=(None,), chunks=(1024,), dtype="f4")


@case("rank32.h5", tensors=1)
@hdf5
def _(f):
    f["x"] = np.ones((1,) * 31 + (2,), "f4")


@case("boxes.h5", tensors=3)
@hdf5
def _(f):
    f.create_dataset("a", data=ramp(7 * 5 * 311).reshape(7, 5, 311), chunks=(2, 1, 1))
    f.create_dataset("b", data=ramp(7 * 5 * 311, "f2").reshape(7, 5, 311), chunks=(3, 2, 10))
    f.create_dataset("c", data=ramp(4000 * 3).reshape(4000, 3), chunks=(1, 2), shuffle=True,
                     compression="gzip", fletcher32=True)


# Types

@case("floats.h5", tensors=6)
@hdf5
def _(f):
    for order in "<>":
        for size in (2, 4, 8):
            f[f"f{size}{'le' if order == '<' else 'be'}"] = ramp(100, f"{order}f{size}")


def _bf16_type():
    t = h5py.h5t.IEEE_F32LE.copy()
    t.set_fields(15, 7, 8, 0, 7)
    t.set_size(2)
    t.set_ebias(127)
    return t


@case("bf16.h5", tensors=3)
@hdf5
def _(f):
    f["marked"] = ramp(100)
    f["marked"].attrs["source_dtype"] = "bfloat16"
    f["other"] = ramp(100)
    f["other"].attrs["source_dtype"] = 16
    space = h5py.h5s.create_simple((4,))
    d = h5py.h5d.create(f.id, b"native", _bf16_type(), space)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, -2, 0.5, 3], "f4"))


@case("odd_floats.h5", tensors=1, skipped=3)
@hdf5
def _(f):
    f["x"] = ramp(8)
    f["long_double"] = np.arange(4, dtype=np.longdouble)
    space = h5py.h5s.create_simple((4,))
    odd = h5py.h5t.IEEE_F32LE.copy()
    odd.set_fields(30, 22, 8, 0, 22)
    odd.set_precision(31)
    h5py.h5d.create(f.id, b"odd4", odd, space)
    odd = h5py.h5t.IEEE_F32LE.copy()
    odd.set_fields(15, 9, 6, 0, 9)
    odd.set_size(2)
    odd.set_ebias(31)
    h5py.h5d.create(f.id, b"odd2", odd, space)


@case("integers.h5", "corrupt", words="no float data: 1 dataset of 1-byte integers")
@hdf5
def _(f):
    for kind in ("i1", "u4", "i8"):
        f[kind] = np.arange(4).astype(kind)
    f["flags"] = np.array([True, False])


@case("others.h5", tensors=1, skipped=8)
@hdf5
def _(f):
    f["x"] = ramp(8)
    f["compound"] = np.zeros(3, [("a", "f4"), ("b", "i4")])
    f["text"] = "words"
    f["bytes"] = np.array([b"ab", b"cd"])
    f["complex"] = np.zeros(3, "c8")
    f["opaque"] = np.void(b"1234")
    f["array"] = np.zeros(2, [("m", "f4", (3,))])
    f.create_dataset("refs", data=np.array([f["x"].ref], h5py.ref_dtype), dtype=h5py.ref_dtype)
    f.create_dataset("regions", data=np.array([f["x"].regionref[:4]], h5py.regionref_dtype),
                     dtype=h5py.regionref_dtype)


@case("committed.h5", tensors=1, skipped=0)
@hdf5
def _(f):
    f["type"] = np.dtype("f4")
    f.create_dataset("x", data=ramp(8), dtype=f["type"])


@case("values.h5", tensors=3)
@hdf5
def _(f):
    odd = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 6e-8, 65504]
    for kind in ("f2", "f4", "f8"):
        f[kind] = np.array(odd, kind)


# Filters

@case("plugin_filter.h5", "unsupported", words="it is compressed with zstd, which gcbench does not read; --hdf5-plugins DIR ")
@hdf5
def _(f):
    dcpl = plist((8,))
    dcpl.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
    low_level(f, "x", (8,), dcpl).write(h5py.h5s.ALL, h5py.h5s.ALL, ramp(8))


def _deflated(f):
    f.create_dataset("x", data=ramp(64), chunks=(64,), compression="gzip")


PIPELINE = b"\x01\x01\0\0\0\0\0\0\x01\0"  # version 1, one filter, deflate
case("plugin_mandatory.h5", "unsupported", words="it is compressed with zstd")(
    patched(_deflated, PIPELINE, struct.pack("<H", 32015), 8))
case("filter_count.h5", "corrupt")(patched(_deflated, PIPELINE, b"\xff", 1))


@case("filters.h5", tensors=7)
@hdf5
def _(f):
    f.create_dataset("gzip", data=ramp(5000), compression="gzip")
    f.create_dataset("shuffle", data=ramp(5000), compression="gzip", shuffle=True)
    f.create_dataset("fletcher", data=ramp(5000), fletcher32=True, chunks=(500,))
    f.create_dataset("half", data=ramp(5000, ">f2"), compression="gzip", chunks=(333,))
    f.create_dataset("lzf", data=ramp(5000) // 9, compression="lzf", chunks=(700,))
    f.create_dataset("lzf_shuffle", data=ramp(5000), compression="lzf", shuffle=True, fletcher32=True)
    f.create_dataset("lzf_random", data=np.sin(ramp(5000)), compression="lzf")


@case("twice_packed.h5", "unsupported", words="it is packed twice")
@hdf5
def _(f):
    dcpl = plist((64,))
    dcpl.set_deflate(9)
    dcpl.set_filter(32000, 0, ())
    low_level(f, "x", (64,), dcpl)


@case("scaleoffset.h5", "unsupported", words="it is compressed with scale-offset")
@hdf5
def _(f):
    f.create_dataset("x", data=ramp(5000), scaleoffset=3)


def damaged_chunk(path, **options):
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", data=np.sin(ramp(5000)), chunks=(5000,), **options)
        place = x.id.get_chunk_info(0)
        at = place.byte_offset + place.size // 2
    data = bytearray(open(path, "rb").read())
    for i in range(8):
        data[at + i] ^= 0x5a
    open(path, "wb").write(data)


def damaged_lzf(path, place):
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", data=ramp(5000) // 500, chunks=(5000,), compression="lzf")
        chunk = x.id.get_chunk_info(0)
    data = bytearray(open(path, "rb").read())
    data[chunk.byte_offset + chunk.size * place // 90] ^= 0x85
    open(path, "wb").write(data)


case("damaged_deflate.h5", tensors=1, read="corrupt", words="cannot be read")(
    lambda path: damaged_chunk(path, compression="gzip"))
for place in range(0, 90, 3):
    case(f"damaged_lzf_{place}.h5", "any", read="any")(lambda path, place=place: damaged_lzf(path, place))
case("damaged_fletcher.h5", tensors=1, read="corrupt", words="cannot be read")(
    lambda path: damaged_chunk(path, fletcher32=True))


# Bytes of the structure

def _chunked(f):
    f.create_dataset("x", data=ramp(24 * 32).reshape(24, 32), chunks=(8, 16))


def chunk_layout(path):
    data = open(path, "rb").read()
    dims = struct.pack("<III", 8, 16, 4)
    at = data.find(dims)
    return data[at - 11:at + 12]  # version, class, rank + 1, address of the tree, dims


case("chunk_rank_low.h5", "corrupt")(patched(_chunked, chunk_layout, b"\x02", 2))
case("chunk_rank_high.h5", "corrupt")(patched(_chunked, chunk_layout, b"\x04", 2))
case("chunk_zero.h5", "corrupt")(patched(_chunked, chunk_layout, struct.pack("<I", 0), 11))
case("chunk_element.h5", "any", read="any")(
    patched(_chunked, chunk_layout, struct.pack("<I", 400), 19))
case("chunk_wide.h5", "any", read="any")(
    patched(_chunked, chunk_layout, struct.pack("<I", 1 << 20), 15))
case("layout_class.h5", "corrupt")(patched(_chunked, chunk_layout, b"\x09", 1))
case("tree_loop.h5", "any", read="any")(patched(_chunked, chunk_layout, struct.pack("<Q", 0), 3))


# The first chunk's key in the tree: its length, filters left out, and corner.
case("chunk_length.h5", tensors=1)(
    patched(_chunked, struct.pack("<IIQQQ", 512, 0, 0, 0, 0), struct.pack("<I", 16)))


def _plain(f):
    f["x"] = ramp(12345)


def contiguous_layout(path):
    with h5py.File(path, "r") as f:
        return b"\x03\x01" + struct.pack("<QQ", f["x"].id.get_offset(), 4 * 12345)


SHAPE = b"\x01\x01\x01" + bytes(5) + struct.pack("<QQ", 12345, 12345)
case("address_outside.h5", "any", read="corrupt")(
    patched(_plain, contiguous_layout, struct.pack("<Q", 1 << 40), 2))
case("stored_absurd.h5", "any", tensors=1, read="any")(
    patched(_plain, contiguous_layout, struct.pack("<Q", 1 << 50), 10))
case("shape_absurd.h5", "corrupt")(
    patched(_plain, SHAPE, struct.pack("<QQ", 1 << 50, 1 << 50), 8))
case("shape_rank.h5", "corrupt")(patched(_plain, SHAPE, b"\xc8", 1))


@case("truncated.h5", "corrupt", words="damaged or cut short")
def _(path):
    hdf5(_plain)(path)
    os.truncate(path, os.path.getsize(path) * 6 // 10)


@case("header_only.h5", "corrupt")
def _(path):
    hdf5(_plain)(path)
    os.truncate(path, 50)


@case("text.h5", "corrupt", words="not an HDF5")
def _(path):
    open(path, "w").write("step,loss\n0,2.3\n" * 100)


@case("signature.h5", "corrupt")
def _(path):
    open(path, "wb").write(b"\x89HDF\r\n\x1a\n" + b"\xff" * 400)


@case("zeroed.h5", "corrupt", words="not an HDF5")
def _(path):
    open(path, "wb").write(bytes(4096))


@case("empty.h5", "corrupt", words="the file is empty")
def _(path):
    open(path, "wb").close()


@case("folder.h5", "corrupt", words="no float data")
def _(path):
    os.makedirs(path, exist_ok=True)


@case("pipe.h5", "invalid", words="not a regular file")
def _(path):
    if not os.path.exists(path):
        os.mkfifo(path)


@case("userblock.h5", tensors=1)
def _(path):
    with h5py.File(path, "w", userblock_size=512) as f:
        f["x"] = ramp(8)


@case("latest.h5", tensors=2)
def _(path):
    with h5py.File(path, "w", libver="latest", track_order=True) as f:
        f["z/x"] = ramp(8)
        f.create_dataset("a", data=ramp(5000), chunks=(64,), maxshape=(None,), compression="gzip")


# The schema

@case("index.h5", tensors=6)
@hdf5
def _(f):
    w = f.create_group("step_1/worker_0")
    for i, index in enumerate(["two", [1, 2], -3, 2**63, 1.5, 4]):
        w[f"p{i}"] = ramp(4)
        w[f"p{i}"].attrs["index"] = np.uint64(index) if index == 2**63 else index


@case("steps.h5", tensors=6)
@hdf5
def _(f):
    f["step_abc/worker_x/a"] = ramp(4)
    f["step_000007/worker_3/a"] = ramp(4)
    f["step8/worker4/a"] = ramp(4)
    f["run/step_9/deep/worker_5/a"] = ramp(4)
    f["step_10/worker_0/step_2/a"] = ramp(4)
    f["worker_6/step_11/a"] = ramp(4)


@case("attributes.h5", tensors=1)
@hdf5
def _(f):
    f["step_1/a"] = ramp(4)
    f.attrs["model"] = "net"
    f.attrs["long"] = "x" * 60000
    f.attrs["array"] = np.zeros(100)
    f.attrs["null"] = h5py.Empty("f4")
    f.attrs["ref"] = f["step_1"].ref
    f.attrs["fixed"] = np.bytes_("abc")
    for i in range(500):
        f["step_1"].attrs[f"n{i}"] = i
    f["step_1"].attrs["loss"] = np.longdouble(1)


@case("worker_large.h5", "corrupt", words="worker's number")
@hdf5
def _(f):
    f["worker_4294967296/a"] = ramp(4)


@case("repeat.h5", "corrupt", words="are the same tensor of step 1, worker 0")
@hdf5
def _(f):
    f["run/step_1/worker_0/a"] = ramp(4)
    f["step_01/a"] = ramp(4)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, fill in CASES:
        fill(os.path.join(sys.argv[1], name))
    with open(os.path.join(sys.argv[1], "manifest.tsv"), "w") as manifest:
        for row in ROWS:
            manifest.write("\t".join(map(str, row)) + "\n")


main()
