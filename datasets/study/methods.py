"""What the study compares: networks, methods, and which runs belong to a method."""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

Case = Tuple[str, str]  # network, label

COMPOSITION = "sparse:theta=0.97,values=uniform,bits=2,index=adaptive,memory=ef"
PLAIN = " --outer-lr 1 --outer-momentum 0"
NETWORKS = ("resnet8", "gpt", "lstm")

# Label: method, and options of train_workers.py; or these for each network.
MINIMUM: Dict[str, str] = {
    "fp32": "identity",
    "bf16": "bf16",
    "fft": "fft:chunk=4096",
    "top-k 1 %, feedback": "topk:theta=0.99,memory=ef",
    "qsgd": "qsgd",
    "qsgd by shares": "qsgd:collective=twoshot",
    "terngrad": "terngrad",
    "sbc, feedback": "sbc:memory=ef",
    "powersgd, feedback": "powersgd:rank=2,memory=ef",
    "3 % x 2 bits, feedback": COMPOSITION,
    "local 10": "identity --inner-steps 10",
    "local 10, 3 % x 2 bits": COMPOSITION + " --inner-steps 10",
}
# Added later, for resnet8 and gpt. AdamW has momentum of its own, so the memories of dgc and
# redsync have none there.
MORE: Dict[str, Union[str, Dict[str, str]]] = {
    "fp16": "fp16",
    "fft whole": "fft",
    "fft whole 0.9": "fft:theta=0.9",
    "fft whole 0.9, then 0": "fft:theta=0.9 --theta-schedule drop",
    "fft whole 0.9, falling": "fft:theta=0.9 --theta-schedule sqrt-lr",
    "fft, falling": "fft:chunk=4096,theta=0.85 --theta-schedule sqrt-lr",
    "fft, feedback": "fft:chunk=4096,memory=ef",
    "top-k 15 %": "topk:theta=0.85",
    "top-k 1 %": "topk:theta=0.99",
    "redsync 0.1 %": {"resnet8": "redsync:memory=dgc", "gpt": "redsync:memory=dgc,momentum=0"},
    "dgc 0.1 %, warm-up": {"resnet8": "dgc:theta=0.999,memory=dgc --theta-schedule warm-up",
                           "gpt": "dgc:theta=0.999,memory=dgc,momentum=0 --theta-schedule warm-up"},
    "demo": "demo:memory=demo",
    "found by sweep, feedback": {
        "resnet8": "dct-range:chunk=32,select=threshold,threshold=0.20086,bits=4,memory=ef",
        "gpt": "topk-range:select=threshold,threshold=0.0097125,bits=4,memory=ef"},
    "sbc, delay 10": "sbc:memory=ef --inner-steps 10" + PLAIN,
    "local 50": "identity --inner-steps 50",
    "local 50, 3 % x 2 bits": COMPOSITION + " --inner-steps 50",
    "local 10, 8 bits": "qgz:bits=8 --inner-steps 10",
    "local 10, 4 bits": "qgz:bits=4 --inner-steps 10",
    "local 10, 2 bits, feedback": "qgz:bits=2,memory=ef --inner-steps 10",
    "local 10, plain": "identity --inner-steps 10" + PLAIN,
    "local 10, plain, 2 bits, feedback": "qgz:bits=2,bucket=64,memory=ef --inner-steps 10" + PLAIN,
    "local 10, plain, 3 % x 2 bits": COMPOSITION + " --inner-steps 10" + PLAIN,
}
# Formats that frameworks ship, with their own collective.
FORMATS: Dict[str, str] = {
    "mxfp8 by shares": "mxfp8:collective=twoshot",
    "mxfp4 by shares": "mxfp4:collective=twoshot",
    "mxfp4 by shares, loco": "mxfp4:collective=twoshot,memory=loco",
    "int4 by shares": "int4:collective=twoshot",
    "int4 by shares, loco": "int4:collective=twoshot,memory=loco",
    "onebit": "onebit",
}
# Where a transform could help, at about equal bytes.
TRANSFORMS: Dict[str, Union[str, Dict[str, str]]] = {
    "top-k x 4 bits, feedback": {"resnet8": "topk-range:theta=0.956,bits=4,memory=ef", "gpt": "topk-range:theta=0.984,bits=4,memory=ef"},
    "kernels x 4 bits, feedback": {"resnet8": "topk-range:theta=0.956,bits=4,transform=dct,tile=kernel,memory=ef"},
    "tiles of rank 1, feedback": {"gpt": "powersgd:rank=1,tile=64x64,memory=ef"},
    "local 30, plain": {"gpt": "identity --inner-steps 30" + PLAIN},
    "local 30, sparseloco": {"gpt": "sparseloco --inner-steps 30" + PLAIN},
    "local 30, sparseloco, DCT": {"gpt": "sparseloco:transform=dct,tile=64x64 --inner-steps 30" + PLAIN},
}
METHODS: Dict[str, Union[str, Dict[str, str]]] = {**MINIMUM, **MORE, **FORMATS, **TRANSFORMS}


def words_of(network: str, label: str) -> str:
    """The method and the options of a case."""
    words = METHODS[label]
    return words if isinstance(words, str) else words[network]


def has_feedback(network: str, label: str) -> bool:
    words = words_of(network, label)
    return "memory=" in words or words.split(":")[0] in ("onebit", "sparseloco")  # which have one by default


class Plan(NamedTuple):
    stages: Sequence[Sequence[Case]]  # run one after the other
    seeds: Sequence[int]
    pilots: Sequence[int]  # seeds of the choice of the learning rate
    words: Sequence[str]
    dump: str

    def cases(self, network: Optional[str] = None) -> List[Case]:
        return [case for stage in self.stages for case in stage if network in (None, case[0])]


def pairs(networks: Sequence[str], labels: Sequence[str]) -> List[Case]:
    """The cases of these networks that have the labels."""
    return [(network, label) for network in networks for label in labels
            if isinstance(METHODS[label], str) or network in METHODS[label]]


FULL = Plan((pairs(("resnet8", "gpt"), tuple(MINIMUM)), pairs(("lstm",), tuple(MINIMUM)),
             pairs(("resnet8", "gpt"), tuple(MORE)), pairs(("resnet8", "gpt"), tuple(FORMATS)),
             pairs(("resnet8", "gpt"), tuple(TRANSFORMS))), range(1, 11), (101,), (), "200-207")
QUICK = Plan((pairs(("resnet8", "gpt"), ("fp32", "bf16", "fft", "qsgd", "terngrad", "top-k 1 %, feedback", "sbc, feedback",
                                         "local 10, 3 % x 2 bits")),
              pairs(("resnet8",), ("fft whole 0.9", "fft whole 0.9, falling", "sbc, delay 10"))), (1, 2), (101,),
             ("--steps", "30", "--evaluations", "3", "--batch-size", "4"), "20-21")
