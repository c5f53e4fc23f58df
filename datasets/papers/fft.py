"""Wang et al., FFT-based gradient sparsification for the distributed training of deep neural networks, HPDC 2020.

Numbers of figures are those of the authors' own PDF.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Dict, List, Tuple

from models import Stages
from work import Curve, Item, Row, Work, rows_of

TITLE = "FFT-based gradient sparsification (Wang et al., HPDC 2020)"
METHODS = ("topk:theta=0.85", "fft:theta=0.85,bits=10", "qsgd:bits=3", "terngrad:clip=0")
SETTING = [word for method in METHODS for word in ("--method", method)]
THETAS = "theta=0.5,0.7,0.8,0.85,0.9,0.95,0.98,0.99,0.999"
LINK = 7e9  # bytes a second of 56 Gb/s
GPU_MEMORY = 732  # GB/s of a P100: no coder on it is faster
ALEXNET_SHARE = 0.6417  # of communication in an iteration of AlexNet on 16 GPUs, from figure 2
NO_GPUS = "It needs a cluster of GPUs."
NO_TRAINING = "It needs trainings to the end: gcbench measures exchanges, not accuracy."





def histogram(work: Work, name: str, what: str, results: Path) -> str:
    """Draw the density of values, because bins differ in width: of the input, and of what each method decodes."""
    found: Dict[str, Dict[float, float]] = {}
    width: Dict[float, float] = {}
    for row in rows_of(results, "histogram"):
        if row.get("of") in (None, "input", "decoded") and row["low"] < row["high"]:
            bins = found.setdefault(row.get("method") or "gradient", {})
            middle = (row["low"] + row["high"]) / 2
            bins[middle] = bins.get(middle, 0) + row["count"]
            width[middle] = row["high"] - row["low"]
    curves = [Curve(label, [(x, count / sum(bins.values()) / width[x]) for x, count in sorted(bins.items())]) for label, bins in found.items()]
    middles = sorted((abs(x), count) for x, count in found["gradient"].items())
    half, limit = sum(count for _, count in middles) * 0.99, 0.0
    while half > 0:
        limit, count = middles.pop(0)
        half -= count
    return work.lines(name, f"Values of {what}, without exact zeros", "value", "density of the values", curves,
                      f"set xrange [-{limit:g}:{limit:g}]\nset format x '%.0e'\nset logscale y\nset yrange [0.01:*]")


def histograms(work: Work) -> Item:
    files: List[str] = []
    for name, words in work.gradients():
        results = work.results(f"values-{name}", "inspect", "--histogram", *words)
        files.append(histogram(work, f"fft-figure-4-{name}", name, results))
    return Item("Figure 4", "Histograms of gradients during a training: most values are near 0.",
                "The same for our gradients.", tuple(files))


def small_vectors(work: Work) -> Item:
    table = []
    for kind, words in (("normal", []), ("correlated", ["--dist", "ar:rho=0.9"])):
        for seed in "123":
            path = work.synthetic(f"{kind}-100-{seed}", *words, "--elements", "100", "--seed", seed)
            both = work.results(path.stem, "compress", "--no-baselines", "--theta", "0.85", "--method", "topk", "--method",
                                "fft:values=fp32", path)
            error = {row["method"]: row["rel_l2"] for row in rows_of(both, "summary")}
            table.append([f"{kind}, seed {seed}", error["topk"], error["fft"], error["fft"] / error["topk"]])
    table.append(["paper", 0.0246, 0.0209, 0.0209 / 0.0246])
    written = work.table("fft-figure-5", ["100 values", "top-k", "FFT", "FFT / top-k"], table,
                         "Ours: relative L2 error at theta 0.85, values not quantised.\n"
                         "The paper names neither its error nor its theta: compare the last column.")
    return Item("Figure 5", "100 gradients at equal sparsity: error 0.0246 with top-k, 0.0209 with the FFT (0.85 times).",
                "Normal values, and correlated ones (AR, rho 0.9). The FFT wins only where neighbours are correlated.",
                (written,))


def bitmap(work: Work) -> Item:
    results = work.results("bitmap", "sweep", "--scope", "model", "--method", "fft:index=bitmap", "--method",
                           "fft:index=golomb", "--vary", THETAS, work.sample)
    found: Dict[str, List[Row]] = {"bitmap": [], "golomb": []}
    for row in rows_of(results, "summary"):
        if row["method"] == "fft":
            found[row["params"]["index"]].append(row)

    def milliseconds(row: Row) -> float:
        return 1e3 * 100e6 / row["ratio"] / LINK

    def counted(row: Row) -> float:
        return 32 / row["nominal_bits_per_element"]

    def share(row: Row) -> float:
        return row["index_bytes"] / row["wire_bytes"]

    table = work.table("fft-figure-6", ["theta", "counted ratio", "bitmap: share", "time, ms", "golomb: share", "time, ms "],
                       [[b["params"]["theta"], counted(b), share(b), milliseconds(b), share(g), milliseconds(g)]
                        for b, g in zip(found["bitmap"], found["golomb"])],
                       "counted ratio: as the paper counts, without positions.\n"
                       "share: of the positions in the message. time: of 100 MB of gradients at 56 Gb/s.")
    picture = work.lines("fft-figure-6", "100 MB of gradients at 56 Gb/s: a bitmap limits what sparsity saves",
                         "ratio as the paper counts (without positions)", "milliseconds on the link",
                         [Curve("bitmap", [(counted(r), milliseconds(r)) for r in found["bitmap"]]),
                          Curve("only its positions", [(counted(r), share(r) * milliseconds(r)) for r in found["bitmap"]]),
                          Curve("golomb", [(counted(r), milliseconds(r)) for r in found["golomb"]])], "set logscale xy")
    return Item("Figure 6", "The bitmap's share of the message grows from 0.97 to 1.0, and the time falls no more.",
                "The same, and the same positions in Golomb code, which has no such limit.", (picture, table))


def quantisers(work: Work) -> Item:
    curves = []
    for mantissa in range(1, 6):
        # 127 codes of each sign: the floats with this mantissa, from the largest value, 1,
        # downwards
        octaves = Counter(math.ceil(code / 2 ** mantissa) for code in range(127))
        curves.append(Curve(f"8 bits, mantissa {mantissa}", sorted((-octave, n) for octave, n in octaves.items() if octave <= 20)))
    picture = work.lines("fft-figure-9", "Codes of range floats", "octaves below the largest value", "codes in an octave", curves,
                         "set logscale y 2")
    return Item("Figures 7 and 9", "Range floats are dense near 0, and their range can be set: [-0.5, 0.5] and [-5, 5].",
                "Codes in each octave below the largest value, for each width of the mantissa. They are relative to that value, "
                "so any range has the same.", (picture,))


def least_ratio(work: Work) -> Item:
    curves, table = [], []
    for select, index in ((30, 67), (12, 67), (30, 34), (12, 12)):
        model = Stages(71e9, select * 1e9, 600e9, index * 1e9)
        curves.append(Curve(f"Ts {select}, Tp {index} GB/s", [(gbit, model.least_ratio(gbit * 1e9 / 8)) for gbit in range(1, 61)
                                                              if gbit * 1e9 / 8 < model.limit()]))
        table.append([f"Tf 71, Tm 600, Ts {select}, Tp {index}", 8e-9 * model.limit()])
    bench = work.results("stages", "bench", "--scope", "model", "--method", "fft:theta=0.85,bits=10", "--no-sums",
                         *work.seconds(5), work.correlated())
    (row,) = [row for row in rows_of(bench, "summary") if row["method"] == "fft"]
    rate = {stage: 4 * row["elements"] / row[stage + "_seconds"] for stage in ("transform", "select", "quantise", "index")}
    rate["quantise"] *= 4  # the paper counts four passes at this rate
    model = Stages(**rate)
    table.append([f"measured: Tf {1e-9 * model.transform:.2g}, Tm {1e-9 * model.quantise:.2g}, Ts {1e-9 * model.select:.2g}, "
                  f"Tp {1e-9 * model.index:.2g}", 8e-9 * model.limit()])
    written = work.table("fft-figure-10", ["throughputs, GB/s", "pays below, Gb/s"], table,
                         "measured: one thread of this machine's CPU, one message for the whole gradient.")
    picture = work.lines("fft-figure-10", "The least ratio at which compression pays", "network, Gb/s", "k_min", curves,
                         "set yrange [1:32]\nset logscale y 2")
    return Item("Figure 10", "The least ratio k that pays, by network, selection Ts and packing Tp.",
                "The formula with the paper's throughputs, and the limit with those measured here.", (picture, written))


def alpha(work: Work) -> Item:
    file = work.real("resnet20_traj.h5") or work.sample
    results = work.results("alpha", "replay", "--scope", "model", "--allow-gaps", *SETTING[:4], "--method",
                           "fft:theta=0.85,bits=10,chunk=64", file)
    table = work.table("fft-figure-12", ["method", "alpha, mean", "alpha, largest"],
                       [[row["method"] + (", chunks of 64" if row["params"].get("chunk") else ""), row["alpha"],
                         row["alpha_max"]] for row in rows_of(results, "replay")] +
                       [["paper: FFT, AlexNet", 0.225, 0.37], ["paper: FFT, ResNet-32", 0.4, None]])
    steps: Dict[str, List[Tuple[float, float]]] = {}
    for row in rows_of(results, "replay_step"):
        if row.get("tensor") is None:
            steps.setdefault(row["method"] + (", chunks of 64" if "chunk=64" in row["spec"] else ""), []).append((row["index"], row["alpha"]))
    picture = work.lines("fft-figure-12", f"Error of the update, {file.name}", "replayed step, from 0", "alpha",
                         [Curve(label, points) for label, points in steps.items()], "set yrange [0:*]")
    return Item("Figure 12", "Alpha of assumption 3.2 in training: 0.2 to 0.25 for AlexNet, at most 0.37; about 0.4 for "
                "ResNet-32.", f"Alpha in each step of {file.name}.",
                (picture, table))


def errors(work: Work) -> Item:
    files: List[str] = []
    table = []
    inputs = work.gradients() + [("ar9", [work.correlated()])]
    for name, words in inputs:
        results = work.results(f"errors-{name}", "compress", "--scope", "model", "--histogram", "--no-baselines",
                               *SETTING, *words)
        files.append(histogram(work, f"fft-figure-15-{name}", name, results))
        files += work.plot(f"fft-figure-15e-{name}", "error-cdf", results)
        table += [[name, row["method"], row["ratio"], row["rel_l2"]]
                  for row in rows_of(results, "summary")]
    written = work.table("fft-figure-15", ["gradient", "method", "ratio", "relative L2 error"], table)
    return Item("Figure 15", "a to d: histograms after FFT, top-k (theta 0.85), QSGD and TernGrad. e: distribution of "
                "|error|; the FFT's is smaller for 99.7 % of the gradients.",
                "The same for each of our gradients, and for a correlated signal.", (*files, written))


# ---- exchanges of AlexNet with 2 to 32 GPUs ----

def bench_of(work: Work, network: str) -> Path:
    """The methods with all-gather, as in the paper."""
    methods = [word for method in METHODS for word in ("--method", method + ",collective=allgather")]
    return work.results(f"fft-bench-{network}", "bench", *methods, *work.seconds(30), work.network(network))


def by_method(rows: List[Row]) -> Dict[str, Row]:
    """The baselines, and the methods by all-gather."""
    return {{"identity": "fp32"}.get(row["method"], row["method"]): row for row in rows
            if row["baseline"] or row["collective"] == "allgather"}


def exchanges(work: Work, network: str, measured: bool) -> Dict[int, Dict[str, Row]]:
    """Rows of payoff by number of GPUs and method. Nodes of the paper's machine have four GPUs on PCIe."""
    bench = bench_of(work, network)
    found: Dict[int, Dict[str, Row]] = {}
    coder = [] if measured else ["--coding", f"{GPU_MEMORY}GB/s"]
    for gpus in (2, 4, 8, 16, 24, 32):
        link = ["--workers", str(gpus), "--bandwidth", "10GB/s"] if gpus <= 4 else \
            ["--nodes", f"{gpus // 4}x4", "--intra", "10GB/s", "--bandwidth", "56Gb"]
        name = f"fft-exchange-{network}-{gpus}" + ("-cpu" if measured else "")
        rows = rows_of(work.results(name, "payoff", *link, *coder, bench), "payoff")
        found[gpus] = by_method(rows)
    return found


def scaling(work: Work, measured: bool) -> Dict[str, List[Tuple[float, float]]]:
    """For each method, the speed-up over one GPU by number of GPUs."""
    found = exchanges(work, work.networks[0], measured)
    compute = found[16]["fp32"]["seconds"] * (1 / ALEXNET_SHARE - 1)
    return {method: [(gpus, gpus * compute / (compute + rows[method]["seconds"])) for gpus, rows in found.items()]
            for method in found[16]}


def table_1(work: Work) -> Item:
    theirs = {"fft": 2.26, "topk": 1.53, "qsgd": 1.73, "terngrad": 1.81}
    table = []
    speeds = [{name: dict(points)[8] for name, points in scaling(work, measured).items()} for measured in (False, True)]
    for method, paper in theirs.items():
        table.append([method, *(speed[method] / speed["fp32"] for speed in speeds), paper])
    written = work.table("fft-table-1", ["method", "perfect coder", "this CPU", "paper, 8 P100"], table,
                         f"Speed-up of an iteration over fp32, {work.networks[0]}, 8 GPUs (model: payoff).\n"
                         f"perfect coder: reads and writes each byte once at {GPU_MEMORY} GB/s, a P100's memory.\n"
                         "Computation: fp32 with 16 GPUs communicates for 64 % of the time (figure 2).")
    return Item("Table 1", "Speed-up of AlexNet's iteration over fp32 on 8 GPUs: FFT 2.26, top-k 1.53, QSGD 1.73, TernGrad "
                "1.81; and accuracies.", "The speed-ups that the model gives, at most and with this CPU's coding. No "
                "accuracies: they need trainings to the end.", (written,))


def figure_16(work: Work) -> Item:
    files = []
    for measured, name, words in ((False, "fft-figure-16", f"perfect coder in a memory of {GPU_MEMORY} GB/s"),
                                  (True, "fft-figure-16-cpu", "coding measured on one thread of this CPU")):
        curves = scaling(work, measured)
        files.append(work.lines(name, f"{work.networks[0]}, 56 Gb/s, four GPUs in a node: {words}", "GPUs",
                                "speed-up over one GPU", [Curve(label, points) for label, points in curves.items()],
                                "set xtics (2, 4, 8, 16, 24, 32)\nset yrange [0:*]"))
    return Item("Figure 16", "Speed-up over one GPU with 2 to 32 GPUs.",
                "The model, with a perfect coder in a P100's memory, and with this CPU's coding.", tuple(files))


def figure_11(work: Work) -> Item:
    results = work.results("fft-allgather", "payoff", "--workers", "2,4,8,16,24,32", "--bandwidth", "56Gb",
                           bench_of(work, work.networks[0]))
    found: Dict[str, List[Tuple[float, float]]] = {}
    for row in rows_of(results, "payoff"):
        if row["collective"] == "allgather":
            found.setdefault(row["method"], []).append((row["workers"], 1e3 * row["network_seconds"]))
    picture = work.lines("fft-figure-11", f"All-gather of {work.networks[0]}'s messages at 56 Gb/s", "workers",
                         "milliseconds on the link", [Curve(label, points) for label, points in found.items()],
                         "set xtics (2, 4, 8, 16, 24, 32)")
    return Item("Figure 11", "The time of an all-gather grows linearly from 2 to 32 GPUs.",
                "The model's time on the link, of real messages.", (picture,))


def items(work: Work) -> List[Item]:
    return [
        Item("Figure 1", "Diagrams of two ways to exchange gradients.", missing="No data."),
        Item("Figure 2", "Share of communication with 16 GPUs: AlexNet 64 %, VGG16 19 %, Inception-V4 33 %, ResNet-32 44 %.",
             missing=NO_GPUS + " AlexNet's share sets the computation in table 1 and figure 16."),
        Item("Figure 3", "Diagram of the pipeline.", missing="No data."),
        histograms(work), small_vectors(work), bitmap(work), quantisers(work),
        Item("Figure 8", "A conversion by hand: 0.256 becomes code 9.", missing="A worked example; tests/kernels/range.c "
             "checks it."),
        least_ratio(work), figure_11(work), alpha(work),
        Item("Figure 13", "Accuracy by epoch with theta 0, 0.5, 0.7, 0.9, and falling to 0.", missing=NO_TRAINING),
        Item("Figure 14", "Accuracy by wall time on 8 GPUs.", missing=NO_TRAINING),
        table_1(work), errors(work), figure_16(work),
    ]
