"""What a caller gives is read once: numbers whose arithmetic wraps, sequences and arrays that answer differently when they are
asked twice, and values of every other kind, in each argument. A mistake shows as a wrong result, or under AddressSanitizer."""
import array
import ctypes
import gc
import itertools
import math

import pytest

import gcbench

np = pytest.importorskip("numpy")
N = 1000
REFUSED = (TypeError, ValueError, BufferError, gcbench.Error)


def gradient(seed=0, n=N):
    return np.random.default_rng(seed).laplace(size=n).astype(np.float32)


def refused(kind, text, call):
    """One plain line says why."""
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value) and "\n" not in str(caught.value), str(caught.value)


class Number:
    """A number that does something when it is asked."""

    def __init__(self, value, act):
        self.value, self.act = value, act

    def __index__(self):
        self.act()
        return self.value

    def __float__(self):
        self.act()
        return float(self.value)

    def __str__(self):
        self.act()
        return str(self.value)


class Changing:
    """Answers each question with the next of its values, and then with the last one."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def next(self):
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]

    def __iter__(self):
        return iter(self.next())

    def __len__(self):
        return len(self.next())

    def __getitem__(self, at):
        return self.next()[at]


class ChangingArray(Changing):
    """The same for arrays."""

    def __dlpack__(self, **_):
        return self.next().__dlpack__()


class Lies(bytes):
    """Bytes that say they are longer."""

    def __len__(self):
        return 1 << 20


# ---- numbers ----

# 4 * n is the bytes of as many elements, in the type of n
WRAPS = [(np.uint8(200), 8), (np.int8(64), 0), (np.uint16(16384 + 5), 5), (np.int32(1 << 30), 0),
         (np.uint32((1 << 30) + 4), 4)]


@pytest.mark.parametrize("n, few", WRAPS)
def test_a_number_of_numpy_counts_all_elements(n, few):
    wanted, short = int(n), np.ones(few, np.float32)
    objects = [gcbench.Decoder("identity", n), gcbench.Sum("identity", n)]
    assert all(one.n == wanted and type(one.n) is int for one in objects)
    says = f"{few} elements, not {wanted}"
    message = gcbench.Encoder("identity", few).encode(short)
    refused(ValueError, says, lambda: objects[0].decode(message, short))
    refused(ValueError, says, lambda: objects[1].finish(short))
    refused(ValueError, says, lambda: gcbench.Sum("identity", n, into=short))
    refused(ValueError, says, lambda: gcbench.Encoder("identity", n).encode(short))
    if wanted > 1 << 20:
        return
    encoder = gcbench.Encoder("topk:memory=ef", n)
    exchange = gcbench.Exchange("topk:memory=ef", n, worker=np.uint8(0), workers=np.uint8(1))
    for remembers in (encoder, exchange):
        state = remembers.save()
        assert remembers.n == wanted and len(state["residual"]) == wanted
        for key in ("residual", "momentum"):
            refused(ValueError, says, lambda: remembers.restore({**state, key: short}))
    for call in (encoder.encode, lambda x: encoder.encode_into(x, bytearray(4096)), lambda x: exchange.begin(0, x)):
        refused(ValueError, says, lambda: call(short))
    x = gradient(n=wanted)
    exchange.begin(np.int8(1), x)
    refused(ValueError, says, lambda: exchange.sum_into(short))
    exchange.receive(np.int64(0), exchange.next().data)
    assert exchange.next() is None
    refused(ValueError, says, lambda: exchange.finish(short))
    update = exchange.finish()
    assert len(update) == wanted and np.array_equal(update, gcbench.Decoder("topk", n).decode(encoder.encode(x, np.int8(1))))


def test_other_numbers_of_numpy_are_taken():
    x = gradient()
    want = gcbench.Encoder("randomk", N, seed=300, workers=200).encode(x, 300, 7)
    encoder = gcbench.Encoder("randomk", np.int16(N), seed=np.uint16(300), workers=np.uint8(200), threads=np.int8(1),
                              shape=np.array([10, 100], np.uint8))
    assert encoder.encode(x, np.uint16(300), np.uint8(7)) == want
    assert gcbench.Decoder.like(want, threads=np.int8(2), max_elements=np.uint16(N)).n == N
    weights = np.array([0.5, 3, 1], np.float64)
    for workers in (3, np.uint8(3)):
        updates = mean([gcbench.Exchange("identity", N, worker=np.uint8(w), workers=workers, weights=weights) for w in range(3)])
        np.testing.assert_allclose(updates, sum(w * gradient(i) for i, w in enumerate(weights)), atol=1e-5)
    total = gcbench.Sum("randomk", N)
    total.add(want, np.float16(0.5))
    assert np.array_equal(total.finish(), 0.5 * gcbench.Decoder.like(want).decode(want))
    encoder.set_norm(np.float32(2))


def mean(workers):
    """The update of an all-reduce."""
    for w, exchange in enumerate(workers):
        exchange.begin(0, gradient(w))
    while True:
        rounds = [exchange.next() for exchange in workers]
        if rounds[0] is None:
            return workers[0].finish()
        for other in rounds[1:]:
            gcbench.combine(np.uint8(rounds[0].reduction), rounds[0].data, other.data)
        for exchange in workers:
            exchange.receive(0, rounds[0].data)


def test_booleans_are_not_numbers_of_things():
    for true in (True, np.bool_(True)):
        for kind in (gcbench.Encoder, gcbench.Decoder, gcbench.Sum):
            refused(TypeError, "not an int", lambda: kind("topk", true))
        refused(TypeError, "not an int", lambda: gcbench.Encoder("topk", N, threads=true))
        refused(TypeError, "not an int", lambda: gcbench.Encoder("topk", N).encode(gradient(), true))
        refused(TypeError, "not an int", lambda: gcbench.combine(true, bytearray(4), bytes(4)))
        assert gcbench.describe(gcbench.Encoder("topk", N, checksum=true).encode(gradient())).has_checksum


def exchange(spec="topk", **more):
    return gcbench.Exchange(spec, N, **{"worker": 0, "workers": 2, **more})


# ---- sequences ----

def test_a_sequence_is_read_once():
    x = gradient()
    want = gcbench.Encoder("powersgd:rank=2", N, shape=(10, 100)).encode(x)
    grows = [10, 100]
    changing = Changing([10, 100], [10] * 40, [])
    grows[0] = Number(10, lambda: grows.extend([7] * 1000))  # changes the list that is being read
    for shape in ([10, 100], (n for n in (10, 100)), np.array([10, 100]), changing, {10: "", 100: ""}, grows):
        assert gcbench.Encoder("powersgd:rank=2", N, shape=shape).encode(x) == want
    assert changing.asked == 1
    for endless in (itertools.repeat(1), itertools.count()):
        refused(gcbench.Error, "options.rank is 33", lambda: gcbench.Encoder("topk", N, shape=endless))
    for none in ([], iter(())):
        refused(gcbench.Error, "shape", lambda: gcbench.Encoder("topk", N, shape=none))
    assert gcbench.Encoder("topk", 1, shape=()).n == 1


def test_weights_are_read_once():
    for weights in ([2, 1], (w for w in (2.0, 1.0)), Changing([2, 1], [1] * 99, []), array.array("d", [2, 1]), {2: "", 1: ""},
                    np.array([2, 1], np.uint8), [Number(2, lambda: None), np.float16(1)]):
        one = gcbench.Exchange("identity", N, worker=0, workers=2, weights=weights)
        one.begin(0, gradient())
        assert one.next() is not None
    for workers in (0, 1):
        for none in ([], iter(()), Changing([], [1])):
            refused(ValueError, "weights has 0 values, not 1", lambda: exchange(workers=workers, weights=none))
        alone = exchange("identity", workers=workers, weights=[3])
        alone.begin(0, gradient())
        alone.receive(0, alone.next().data)
        assert alone.next() is None and alone.workers == 1
        np.testing.assert_allclose(alone.finish(), 3 * gradient(), rtol=1e-6)
    for endless in (itertools.repeat(1.0), itertools.count()):
        refused(ValueError, "weights has more than 2 values, not 2", lambda: exchange(weights=endless))
    refused(ValueError, "weights has more than 1048576 values", lambda: exchange(workers=2**32 - 1, weights=itertools.repeat(1.0)))
    refused(gcbench.Error, "not finite", lambda: exchange(weights=[1, 1e300]))


# ---- saved states ----

def keeper():
    return gcbench.Encoder("powersgd:rank=1,memory=ef", N, shape=(10, 100))


def test_what_was_kept_is_measured_in_bytes():
    encoder = keeper()
    encoder.encode(gradient())
    state = encoder.save()
    kept, want = np.frombuffer(state["kept"], np.uint8), encoder.encode(gradient(1), 1)
    long = len(kept)
    assert long > 100 and long % 8 == 0
    for good in (bytearray(kept), Lies(kept), kept.reshape(2, -1), kept.view(np.float64), memoryview(kept).cast("q")):
        fresh = keeper()
        fresh.restore({**state, "kept": good})
        assert fresh.encode(gradient(1), 1) == want
    for nothing in (b"", Lies(), np.empty((long, 0), np.uint8)):  # as in a new encoder
        fresh = keeper()
        fresh.restore({**state, "kept": nothing})
        assert fresh.save()["kept"] == keeper().save()["kept"] != state["kept"]
    for wrong in (np.zeros(long, np.int64), Lies(b"abc"), kept[:-1].copy(), bytes(long + 1), np.zeros((long, 2), np.uint8)):
        refused(gcbench.Error, "does not fit", lambda: keeper().restore({**state, "kept": wrong}))
    refused((BufferError, ValueError), "contiguous", lambda: keeper().restore({**state, "kept": np.repeat(kept, 2)[::2]}))
    refused(TypeError, "a list is not an array", lambda: keeper().restore({**state, "kept": list(kept)}))


def test_odd_states_are_refused():
    encoder, exchanged = keeper(), exchange("topk:memory=ef")
    for one in (encoder, exchanged):
        state = one.save()
        for key in ("residual", "momentum"):
            for wrong, text in ((np.zeros(N), "f64"), (np.zeros(N, np.int32), "not f32"), (np.zeros(N, np.float16), "not f32"),
                                ([0.0] * N, "a list is not an array"), (np.zeros(2 * N, np.float32)[::2], "contiguous"),
                                (np.zeros(N - 1, np.float32), "999 elements"), (np.empty((N, 0), np.float32), "0 elements"),
                                (np.float32(0), "1 elements"), (None, "NoneType"), (Lies(), "u8")):
                refused(REFUSED, text, lambda: one.restore({**state, key: wrong}))
        for wrong, text in (([0] * 7 + [-1], "out of range"), ([0] * 7 + [2**64], "out of range"), ([0] * 7 + [0.5], "not an int"),
                            ([0] * 9, "more than 8"), ([], "0 values"), (itertools.repeat(0), "more than 8"), (0, "sequence"),
                            (None, "sequence"), ("0" * 8, "not an int"), (np.zeros(8), "not an int")):
            refused((TypeError, ValueError), text, lambda: one.restore({**state, "counters": wrong}))
        for good in (np.array(state["counters"], np.uint8), iter(state["counters"]), Changing(state["counters"], [0] * 99, [])):
            one.restore({**state, "counters": good})
        for wrong in (None, 5, [], "residual", list(state)):
            refused(TypeError, "not a dictionary", lambda: one.restore(wrong))
        refused(ValueError, "no 'kept'", lambda: one.restore({key: state[key] for key in state if key != "kept"}))
        one.restore(Once(state))


class Once(dict):
    """Gives each value once."""

    def __getitem__(self, key):
        return self.pop(key)


# ---- arrays ----

def test_messages_are_measured_in_bytes():
    message, n = gcbench.Encoder("fp16", N).encode(gradient()), N
    decoder, want = gcbench.Decoder("fp16", n), gcbench.Decoder("fp16", n).decode(message)
    assert len(message) % 16 == 0
    whole = np.frombuffer(message, np.uint8)
    forms = [message, bytearray(message), memoryview(message), memoryview(bytearray(message)).cast("d"), Lies(message),
             array.array("d", message), whole.view(np.int64), whole.view(np.float64).reshape(1, 1, -1), whole.reshape(2, -1),
             whole.view(np.complex64), ChangingArray(whole.copy(), whole[:8].copy(), whole[:0].copy())]
    for form in forms:
        total, into = gcbench.Sum.like(message, into=np.zeros(n, np.float32)), np.zeros(n, np.float32)
        total.add(form if not isinstance(form, ChangingArray) else whole, 1)
        assert np.array_equal(decoder.decode(form, into), want) and np.array_equal(total.finish(), want)
        if not isinstance(form, ChangingArray):
            assert gcbench.describe(form).elements == gcbench.Decoder.like(form).n == n
    for form in (whole[::2], whole.reshape(2, -1).T, np.repeat(whole, 2)[::2], memoryview(message)[::2]):
        refused((BufferError, ValueError), "contiguous", lambda: decoder.decode(form))
    for wrong in (whole.astype(np.int64), whole[:-1].copy(), np.empty((len(message), 0)), b"", np.zeros(0)):
        with pytest.raises(gcbench.Error):
            decoder.decode(wrong)


def test_an_array_that_changes_is_asked_once():
    """By DLPack, which other libraries use, an object may give other memory each time."""
    x, short, small, large = gradient(), np.ones(2, np.float32), gcbench.Encoder("topk", 10), gcbench.Encoder("topk", 100000)
    encoder, want = gcbench.Encoder("topk", N), gcbench.Encoder("topk", N).encode(x)
    changing = ChangingArray(x, short)
    assert encoder.encode(changing) == want and changing.asked == 1
    refused(ValueError, "2 elements", lambda: encoder.encode(changing))
    room = np.zeros(encoder.bound, np.uint8)
    length = encoder.encode_into(ChangingArray(x, short), ChangingArray(room, short))
    assert room[:length].tobytes() == want
    messages = [np.frombuffer(one, np.uint8).copy() for one in (small.encode(x[:10]), large.encode(gradient(n=100000)))]
    for first, second in (messages, messages[::-1]):
        n = gcbench.describe(first).elements
        total = gcbench.Sum.like(ChangingArray(first, second), into=np.zeros(n, np.float32))
        assert total.n == n == gcbench.Decoder.like(ChangingArray(first, second)).n
        refused(gcbench.Error, "elements", lambda: total.add(second))
        total.add(ChangingArray(first, second))
        assert total.finish().any()
    into, other = np.zeros(N, np.float32), np.zeros(3, np.float32)
    total = gcbench.Sum("topk", N, into=ChangingArray(into, other))
    total.add(want)
    total.finish()
    assert into.any()
    one = exchange("topk", workers=1)
    one.begin(0, ChangingArray(x, short))
    assert one.sum_into(ChangingArray(into, other))
    one.receive(0, one.next().data)
    assert one.next() is None
    one.finish()
    assert np.array_equal(into, gcbench.Decoder("topk", N).decode(want))


def test_only_numbers_are_written_over():
    """An array of objects has addresses in it."""
    encoder, x = gcbench.Encoder("topk", 100), gradient(n=100)
    room = encoder.bound
    want = encoder.encode(x)
    for out in (np.empty(room, object), np.zeros(room, [("a", object)]), (ctypes.c_char_p * room)()):
        refused(TypeError, "not numbers", lambda: encoder.encode_into(x, out))
        refused(TypeError, "not numbers", lambda: gcbench.combine(gcbench.SUM_I8, out, bytes(8 * room)))
    for kind in (np.uint8, np.int64, np.float64, ">u2"):
        out = np.zeros((2, room), kind)
        assert out.reshape(-1).view(np.uint8)[:encoder.encode_into(x, out)].tobytes() == want
    for out in (want, np.frombuffer(want, np.uint8), memoryview(bytes(room)), Lies(bytes(room))):
        refused((BufferError, ValueError), "", lambda: encoder.encode_into(x, out))
    for out in (np.zeros((room, 2), np.uint8)[:, 0], np.zeros((room, 2)).T):
        refused((BufferError, ValueError), "contiguous", lambda: encoder.encode_into(x, out))
    for out in (bytearray(), bytearray(8), np.zeros((room, 0), np.uint8), np.zeros(1)):
        refused(gcbench.Error, "", lambda: encoder.encode_into(x, out))


def test_values_are_combined_by_bytes():
    a, b = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    for form in (lambda x: x.view(np.int64), lambda x: x.view(np.uint8).reshape(4, 8), lambda x: x):
        into = a.copy()
        gcbench.combine(gcbench.SUM_F32, form(into), form(b))
        assert np.array_equal(into, a + b)
    for values in (b.astype(np.float64), b[:4], np.ones((8, 0)), b.view(np.int64)[:3].copy(), Lies(bytes(8))):
        refused(ValueError, "cannot combine", lambda: gcbench.combine(gcbench.SUM_F32, a, values))
    refused(ValueError, "cannot combine", lambda: gcbench.combine(gcbench.SUM_F32, bytearray(6), bytes(6)))


def test_bytes_to_send_outlive_their_exchange():
    for spec in ("topk", "identity:collective=allreduce", "topk:collective=oktopk", "topk:collective=spardl"):
        one = gcbench.Exchange(spec, N, worker=0, workers=2)
        one.begin(0, gradient())
        data = one.next().data
        before = bytes(data)
        data[:] = bytes(len(data))  # nobody's but the caller's
        one.begin(0, gradient())
        again = one.next().data
        one.set("theta", 0.5) if "topk" in spec else None
        one.close()
        del one
        gc.collect()
        assert bytes(again) == before and not any(data)


# ---- texts ----

def test_texts_are_what_they_hold():
    encoder = gcbench.Encoder("topk", N)
    made = [lambda spec: gcbench.Encoder(spec, N), lambda spec: gcbench.Decoder(spec, N), lambda spec: gcbench.Sum(spec, N),
            lambda spec: exchange(spec), lambda spec: gcbench.Encoder("topk", N, path=spec), lambda spec: encoder.set(spec, 1),
            lambda spec: encoder.set("theta", spec), lambda spec: gcbench.Encoder("topk", N, nonfinite=spec),
            lambda spec: gcbench.Encoder("topk", N, input=spec), lambda spec: gcbench.Encoder("topk", N, source=spec)]
    for make in made:
        refused(ValueError, "NUL", lambda: make("topk\0"))
        refused(ValueError, "UTF-8", lambda: make("topk\udc80"))
    for make in made[:6] + made[7:]:
        for wrong in (b"topk", 5, ["topk"], object()):
            refused(TypeError, "not a str", lambda: make(wrong))
    refused(ValueError, "input='f23': choose one of f32, f16", lambda: gcbench.Encoder("topk", N, input="f23"))


# ---- everything everywhere ----

def odd_values():
    return [None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -2**63, 10**400, 0.0, 0.5, math.nan, math.inf, 1j, "", "x", "\0",
            "\udc80", b"", b"x", bytearray(3), memoryview(b"abc")[::2], Lies(b"x"), [], [1], (2, 3), {}, {1: 2}, {4},
            object(), type, len, iter([1]), itertools.repeat(1), Changing([1], []), ChangingArray(np.ones(4, np.float32), np.ones(1)),
            Number(3, lambda: None), *[of(3) for of in (np.int8, np.uint8, np.int16, np.uint32, np.int64,
            np.uint64, np.float16, np.float32, np.float64, np.bool_, np.complex64, np.str_)], np.uint64(2**64 - 1), np.int8(-1),
            np.array(3), np.array([3]), np.ones(N, np.float32), np.ones(N), np.ones((N, 2), np.float32)[:, 0], np.ones((N, 0)),
            np.ones(N, ">f4"), np.ones(N, "f4,f4"), np.empty(N, object), np.array("x"), np.datetime64("2000-01-01"),
            np.broadcast_to(np.float32(1), N), gcbench.Encoder("topk", 1), gcbench.describe]


@pytest.mark.filterwarnings("ignore")
def test_every_argument_takes_or_refuses_every_value():
    x, message = gradient(), gcbench.Encoder("topk", N).encode(gradient())
    state = gcbench.Encoder("topk:memory=ef", N).save()

    def begun():
        one = exchange("topk:memory=ef", workers=1)
        one.begin(0, x)
        return one

    def sent():
        one = begun()
        one.data = one.next().data
        return one

    def received():
        one = sent()
        one.receive(0, one.data)
        one.next()
        return one

    makes = {gcbench.Encoder: dict(threads=1, shape=[N], seed=1, path="", nonfinite="error", input="f32", source="f32", workers=1,
                                   checksum=False),
             gcbench.Decoder: dict(threads=1, shape=[N]), gcbench.Sum: dict(into=np.zeros(N, np.float32), threads=1),
             gcbench.Exchange: dict(worker=0, workers=1, weights=[1], threads=1, shape=[N], seed=1, path="", nonfinite="error",
                                    source="f32", checksum=False)}
    calls = [(lambda kind=kind: kind, dict(spec="topk", n=N, **more)) for kind, more in makes.items()]
    encoder = lambda: gcbench.Encoder("topk:memory=ef", N)
    calls += [(lambda: encoder().encode, dict(x=x, step=0, worker=0)),
              (lambda: encoder().encode_into, dict(x=x, out=bytearray(16 * N), step=0, worker=0)),
              (lambda: encoder().set, dict(key="theta", value=0.5)), (lambda: encoder().set_norm, dict(norm=1.0)),
              (lambda: encoder().restore, dict(state=state)),
              *[(lambda key=key: lambda value: encoder().restore({**state, key: value}), dict(value=state[key])) for key in state],
              (lambda: gcbench.Decoder("topk", N).decode, dict(message=message, out=np.zeros(N, np.float32))),
              (lambda: gcbench.Decoder.like, dict(message=message, threads=1, max_elements=N)),
              (lambda: gcbench.Sum.like, dict(message=message, into=np.zeros(N, np.float32), threads=1, max_elements=N)),
              (lambda: gcbench.Sum("topk", N).add, dict(message=message, weight=1.0)),
              (lambda: gcbench.Sum("topk", N).finish, dict(out=np.zeros(N, np.float32))),
              (lambda: gcbench.describe, dict(message=message)),
              (lambda: begun().begin, dict(step=0, x=x)), (lambda: begun().sum_into, dict(out=np.zeros(N, np.float32))),
              (lambda: sent().receive, dict(worker=0, data=message)), (lambda: received().finish, dict(out=np.zeros(N, np.float32))),
              (lambda: gcbench.combine, dict(reduction=0, into=bytearray(8), values=bytes(8)))]
    tried = 0
    for ready, good in calls:
        call = ready()
        call(**good)
        for name in good:
            for value in odd_values():
                tried += 1
                try:
                    ready()(**{**good, name: value})
                except REFUSED as error:
                    assert str(error) and "\n" not in str(error), (name, value)
    print(f"{tried} calls")
