from format_parts import Codec, raw

CODECS = [
    Codec(1, "identity", [], lambda params, n, source: raw(source, n, 0)),
    Codec(2, "fp16", [], lambda params, n, source: raw(source, n, 1)),
    Codec(3, "bf16", [], lambda params, n, source: raw(source, n, 2)),
]
