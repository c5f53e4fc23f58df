"""A compressor of your own: blocks of 256 values share a scale (docs/adding-a-codec.md)."""
import sys
import numpy as np

def encode(x):
    blocks = np.pad(x, (0, -x.size % 256)).reshape(-1, 256)
    scales = np.maximum(np.abs(blocks).max(1), np.float32(1e-30)) / np.float32(3)
    codes = (np.rint(blocks / scales[:, None]) + 3).astype(np.uint8)  # 0 to 6: three bits
    return scales.tobytes() + np.packbits(np.unpackbits(codes.reshape(-1, 1), axis=1)[:, 5:]).tobytes()

def decode(message, n):
    scales = np.frombuffer(message, np.float32, -(-n // 256))
    bits = np.unpackbits(np.frombuffer(message, np.uint8, offset=scales.nbytes)).reshape(-1, 3)
    return ((bits @ [4, 2, 1] - 3.0).reshape(-1, 256) * scales[:, None]).astype(np.float32).ravel()[:n].tobytes()

while len(head := sys.stdin.buffer.read(48)) == 48:
    verb, n, length, seed, step, worker = np.frombuffer(head, np.uint64).tolist()
    data = sys.stdin.buffer.read(length)
    answer = encode(np.frombuffer(data, np.float32)) if verb == 1 else decode(data, n)
    sys.stdout.buffer.write(np.array([0, 0, len(answer)], np.uint64).tobytes() + answer)
    sys.stdout.buffer.flush()
