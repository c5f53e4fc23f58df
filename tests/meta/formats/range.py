from format_parts import Codec, RangeFloat, packed_bytes


def decode_range(params, n, source):
    scale = RangeFloat(params["bits"], source)
    return scale.values(source.take(packed_bytes(n, scale.bits)), n)


CODECS = [Codec(4, "range", [("bits", 1, 2, 16)], decode_range)]
