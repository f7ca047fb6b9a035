# SPDX-License-Identifier: Apache-2.0
"""warpfold.torch: operators by PyTorch's own checks, derivatives, torch.compile, and the mode in which PyTorch's own reductions are exact."""

import pathlib
import runpy

import numpy as np
import pytest

import warpfold as wf

torch = pytest.importorskip("torch")
try:
    from warpfold import torch as wft
except ModuleNotFoundError as e:
    pytest.skip(str(e), allow_module_level=True)

OPS = {name: getattr(torch.ops.warpfold, name) for name in ("sum", "mean", "var", "norm", "logsumexp")}
HOW = [{}, {"dim": [0]}, {"dim": [-1], "keepdim": True}, {"dim": [0, 2]}, {"dim": []}]


def elements(dtype, shape=(2, 3, 50)):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape) * 10.0**rng.integers(-4, 5, shape)
    if dtype in (torch.float16, torch.bfloat16):
        x = np.clip(x, -1000, 1000)
    if dtype.is_complex:
        x = x + 1j * rng.standard_normal(shape)
    return torch.from_numpy(np.asarray(x)).to(dtype)


def axis_of(how):
    return {"axis": tuple(how["dim"]) if how.get("dim") else None, "keepdims": how.get("keepdim", False)}


def the_same(got, expected):
    assert isinstance(got, torch.Tensor) and isinstance(expected, torch.Tensor)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert torch.equal(torch.nan_to_num(got), torch.nan_to_num(expected))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.uint8, torch.bool, torch.complex64])
def test_operators_give_the_packages_answers(name, dtype):
    x = elements(dtype) if dtype.is_floating_point or dtype.is_complex else (elements(torch.float64) % 7).to(dtype)
    for how in HOW:
        more = {"correction": 1} if name == "var" else {}
        if name == "logsumexp" and dtype.is_complex:
            with pytest.raises(TypeError, match="real"):
                OPS[name](x, **how)
            continue
        the_same(OPS[name](x.mT, **how), getattr(wf, name)(x.mT.contiguous(), **axis_of(how), **more))
    if name == "logsumexp" and dtype.is_complex:
        return
    meta = OPS[name](x.to("meta"), [1], *([1] if name == "var" else []), True)
    real = OPS[name](x, [1], *([1] if name == "var" else []), True)
    assert (meta.shape, meta.dtype) == (real.shape, real.dtype)


@pytest.mark.parametrize("name", OPS)
def test_operators_pass_pytorchs_checks(name):
    x = elements(torch.float64, (2, 3)).clamp(-3, 3).requires_grad_()
    for args in ((x,), (x, [1]), (x, [0, -1], *([0.5] if name == "var" else []), True)):
        torch.library.opcheck(OPS[name], args)
        assert torch.autograd.gradcheck(lambda v: OPS[name](v, *args[1:]), (x,))
    number = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    if name != "var":
        assert torch.autograd.gradcheck(lambda v: OPS[name](v, [0]), (number,))


def test_derivatives_at_zero_and_of_complex_numbers():
    x = torch.zeros(3, requires_grad=True)
    torch.ops.warpfold.norm(x).backward()
    assert x.grad.tolist() == [0, 0, 0]
    z = torch.tensor([1 + 1j, 2.0], requires_grad=True)
    torch.ops.warpfold.sum(z).abs().backward()
    with pytest.raises(TypeError, match="warpfold::norm: derivatives are of real numbers"):
        torch.ops.warpfold.norm(z).backward()


def test_corrections_that_are_fractions():
    x = elements(torch.float32)
    for correction in (0, 1, 1.0, 0.5, 1.75, -0.5, 49.9):
        for how in HOW:
            expected = wf.var(x, correction=correction, **axis_of(how))
            the_same(OPS["var"](x, **how, correction=correction), expected)
            with wft.exact():
                the_same(torch.var(x, how.get("dim"), correction=correction, keepdim=how.get("keepdim", False)), expected)
                the_same(torch.std_mean(x, how.get("dim"), correction=correction)[0], wf.std(x, axis=axis_of(how)["axis"], correction=correction))
    f = torch.compile(lambda v: OPS["var"](v, [2], 0.5), backend="aot_eager", fullgraph=True)
    y, z = x.clone().requires_grad_(), x.clone().requires_grad_()
    f(y).sum().backward()
    torch.var(z, 2, correction=0.5).sum().backward()
    torch.testing.assert_close(y.grad, z.grad)


def test_derivatives_of_variances_of_too_few_are_nan():
    for n, correction in ((1, 1), (2, 2), (2, 2.5)):
        x = torch.ones(n, requires_grad=True)
        y = OPS["var"](x, None, correction)
        y.backward()
        assert y.isnan() and x.grad.isnan().all()


@pytest.mark.parametrize("name", OPS)
def test_dimensions_are_pytorchs(name):
    x = elements(torch.float64)
    the_same(OPS[name](x, 1), OPS[name](x, [1]))
    the_same(OPS[name](x, dim=-1), OPS[name](x, [2]))
    for wrong, said in ((3, "out of bounds"), ([0, 0], "twice")):
        for such in (x, x.to("meta")):  # what is compiled must not be given a shape that there is not
            with pytest.raises((IndexError, ValueError), match=f"^{name}: .*{said}"):
                OPS[name](such, wrong)


@pytest.mark.parametrize("name", OPS)
def test_derivatives_in_forward_mode_are_refused(name):
    """PyTorch would take them to be 0."""
    x = elements(torch.float64)
    with torch.autograd.forward_ad.dual_level():
        OPS[name](x)
        with pytest.raises(NotImplementedError, match=f"^warpfold::{name}: derivatives in forward mode"):
            OPS[name](torch.autograd.forward_ad.make_dual(x, x))
    with pytest.raises(NotImplementedError, match=f"^warpfold::{name}: derivatives in forward mode"):
        torch.func.jvp(OPS[name], (x,), (x,))


def test_compiled_in_one_graph():
    x = elements(torch.float32)
    f = torch.compile(lambda v: torch.ops.warpfold.sum(v * 2, [2]) + torch.ops.warpfold.norm(v), backend="eager", fullgraph=True)
    the_same(f(x), wf.sum(x * 2, axis=2) + wf.norm(x))


@pytest.mark.parametrize("name", OPS)
def test_operators_are_pytorchs_to_all_else(name):
    """Their calls look first whether a tensor is a plain one on a GPU (test_gpu.py); what PyTorch knows of them stays."""
    import copy
    op, x = OPS[name], elements(torch.float32)
    assert isinstance(op, torch._ops.OpOverloadPacket) and isinstance(op.default, torch._ops.OpOverload) and op.default.overloadpacket is op
    assert copy.deepcopy(op) is op and copy.deepcopy(op.default) is op.default and hash(op.default) == hash(op.default) and op.overloads() == ["default"]
    assert str(op) == f"warpfold.{name}" and str(op.default) == f"warpfold.{name}.default" and repr(op.default) == f"<OpOverload(op='warpfold.{name}', overload='default')>"
    the_same(op.default(x, [1]), op(x, [1]))
    the_same(op(x=x, dim=[1], keepdim=True), op(x, [1], *([1] if name == "var" else []), True))
    called = {"sum": lambda v: torch.ops.warpfold.sum(v, [1]), "mean": lambda v: torch.ops.warpfold.mean(v, [1]), "var": lambda v: torch.ops.warpfold.var(v, [1]),
              "norm": lambda v: torch.ops.warpfold.norm(v, [1]), "logsumexp": lambda v: torch.ops.warpfold.logsumexp(v, [1])}[name]
    the_same(torch.jit.trace(called, (x,))(x + 1), op(x + 1, [1]))
    from torch.fx.experimental.proxy_tensor import make_fx
    for mode in ("real", "fake"):
        graph = make_fx(called, tracing_mode=mode)(x)
        assert op.default in [node.target for node in graph.graph.nodes]
        the_same(graph(x + 1), op(x + 1, [1]))
    the_same(torch.func.vmap(lambda v: op(v))(x), op(x, [1, 2]))
    for wrong in (lambda: op(), lambda: op(x, 0, *([1] if name == "var" else []), False, "up", 1), lambda: op(x, dims=0), lambda: op(x, keepdim="yes"), lambda: op("x")):
        with pytest.raises((RuntimeError, TypeError), match=f"warpfold::{name}"):
            wrong()


CALLS = {
    "sum": (lambda x: x.sum(), lambda x: wf.sum(x)), "torch.sum": (lambda x: torch.sum(x, 1), lambda x: wf.sum(x, axis=1)),
    "sum of dims": (lambda x: torch.sum(x, (0, 2), keepdim=True), lambda x: wf.sum(x, axis=(0, 2), keepdims=True)),
    "sum to f32": (lambda x: x.sum(dtype=torch.float32), lambda x: wf.sum(x, dtype="float32")),
    "mean": (lambda x: x.mean(-1), lambda x: wf.mean(x, axis=-1)), "var": (lambda x: x.var(), lambda x: wf.var(x, correction=1)),
    "var of dims": (lambda x: torch.var(x, 1, correction=0), lambda x: wf.var(x, axis=1)),
    "unbiased": (lambda x: torch.var(x, unbiased=False), lambda x: wf.var(x)),
    "std": (lambda x: torch.std(x, 2), lambda x: wf.std(x, axis=2, correction=1)), "norm": (lambda x: torch.norm(x), lambda x: wf.norm(x)),
    "method norm": (lambda x: x.norm(dim=1), lambda x: wf.norm(x, axis=1)), "norm1": (lambda x: torch.linalg.vector_norm(x, 1, dim=0), lambda x: wf.norm1(x, axis=0)),
    "linalg.norm": (lambda x: torch.linalg.norm(x.flatten()), lambda x: wf.norm(x)), "inf": (lambda x: torch.linalg.vector_norm(x, torch.inf), lambda x: wf.norm_inf(x)),
    "logsumexp": (lambda x: torch.logsumexp(x, (1, 2)), lambda x: wf.logsumexp(x, axis=(1, 2))),
    "out": (lambda x: torch.sum(x, 0, out=torch.empty(0, dtype=x.dtype)), lambda x: wf.sum(x, axis=0)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_inside_the_mode_pytorchs_own_are_exact(call, dtype):
    theirs, ours = CALLS[call]
    x = elements(dtype)
    x.view(-1)[:40] = torch.tensor([3e4, 1.0, -3e4, 2.0**-9] * 10, dtype=dtype)
    with wft.exact():
        got = theirs(x)
    the_same(got, ours(x))
    assert got.dtype == theirs(x).dtype and got.shape == theirs(x).shape


def test_the_mode_changes_what_native_sums_lose_and_ends():
    x = torch.tensor([1e8, 1.0, -1e8] * 100)
    native = x.sum()
    with wft.exact():
        assert float(x.sum()) == 100.0
        var, mean = torch.var_mean(x)
        the_same(mean, wf.mean(x))
        the_same(var, wf.var(x, correction=1))
    assert float(native) != 100.0 and torch.equal(x.sum(), native)


def test_derivatives_inside_the_mode():
    x = torch.tensor([1e8, 1.0, -1e8], requires_grad=True)
    with wft.exact():
        y = x.sum()
        (y * 2).backward()
        w = torch.ones(1, requires_grad=True)
        (w * x.detach()).sum().backward()  # its gradient is a sum over what was broadcast
    assert y.item() == 1.0 and x.grad.tolist() == [2.0] * 3 and w.grad.item() == 1.0


def test_types_and_refusals_of_the_mode():
    x = torch.tensor([200, 100], dtype=torch.uint8)
    with wft.exact():
        assert x.sum().dtype == torch.int64 and x.sum().item() == 300
        assert torch.tensor([True, True]).sum().item() == 2
        assert torch.tensor([1.5, 1.5]).sum(dtype=torch.int64).item() == 2
        assert x.sum(dtype=torch.float32).dtype == torch.float32 and torch.tensor(3.0).sum(0).item() == 3.0
        assert torch.tensor([1, 2]).sum(dtype=torch.uint8).dtype == torch.uint8
        with pytest.raises(RuntimeError):
            x.mean()
        with pytest.raises(RuntimeError):
            torch.tensor([1, 2]).var()
        assert abs(torch.linalg.vector_norm(torch.tensor([1.0, 2.0]), 3).item() - 9**(1 / 3)) < 1e-6  # PyTorch's own
        assert torch.ones(3, device="meta").sum().device.type == "meta"
        with pytest.raises(TypeError, match="^warpfold.torch.exact: sum of a tensor of .*sparse"):
            torch.ones(3).to_sparse().sum()


def test_tensors_as_they_are_not_as_they_lie():
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    z = torch.complex(x, 2 * x)
    for such in (torch._neg_view(x), z.conj(), z.conj().imag, torch._neg_view(x).T[::2], x.bfloat16(), x.half(), x.expand(4, 2, 3), x.to(torch.uint8), x > 2):
        plain = such.resolve_conj().resolve_neg().clone()
        for how in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}):
            for f in (wf.sum, wf.mean):
                a, b = f(such, **how), f(plain, **how)
                assert type(a) is torch.Tensor and a.dtype == b.dtype and torch.equal(a, b)
        assert wf.dot(such, such) == wf.dot(plain, plain)
    for such, said in ((x.clone().requires_grad_(), "require gradient"), (x.to_sparse(), "layout"), (torch.empty(3, device="meta"), "meta"), (x.to(torch.float8_e5m2), "float8_e5m2"),
                       (torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "not supported")):
        for f in (wf.sum, wf.max, wf.ExactSum):
            with pytest.raises(TypeError, match=said) as e:
                f(such)
            assert "\n" not in str(e.value)


def test_out_and_keys_are_tensors():
    for dtype in (torch.float32, torch.bfloat16):
        x = elements(dtype, (3, 40))
        out = torch.zeros(6, dtype=dtype)[::2]
        assert wf.sum(x, axis=1, out=out) is out and torch.equal(out, wf.sum(x, axis=1))
        assert wf.dot(x, x, axis=1, out=out) is out and wf.segment_max(x.ravel(), 40, out=out) is out
        number = torch.zeros((), dtype=dtype)
        assert wf.mean(x, out=number) is number and torch.equal(number, wf.mean(x))
        for wrong, said in ((torch.zeros(2, dtype=dtype), "shape"), (torch.zeros(3, dtype=torch.float64), "float64"), (torch.zeros(3, dtype=dtype).requires_grad_(), "requires grad")):
            with pytest.raises((TypeError, ValueError), match=f"^sum: out= .*{said}"):
                wf.sum(x, axis=1, out=wrong)
    keys, sums = wf.sum_by_key(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([7, 3, 7]))
    assert type(keys) is type(sums) is torch.Tensor and keys.tolist() == [3, 7] and sums.tolist() == [2.0, 5.0]


def test_examples():
    import doctest
    found = doctest.testmod(wft)
    assert found.failed == 0 and found.attempted == 6


def test_rows_have_the_same_bits_in_every_batch(capsys):
    path = pathlib.Path(__file__).parents[2] / "examples" / "batch_invariant.py"
    example = runpy.run_path(str(path))
    for device in ("cpu", "cuda")[:1 + torch.cuda.is_available()]:
        for dtype, columns in ((torch.float32, 333), (torch.float32, 5000), (torch.float64, 100), (torch.bfloat16, 70)):
            x = (torch.randn(67, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 8).to(dtype).to(device)
            weight = torch.linspace(0.5, 2, columns, dtype=torch.float64).to(dtype).to(device)
            for f in (lambda v: example["rms_norm"](v, weight), example["log_softmax"]):  # noqa: B023
                assert example["rows_that_differ"](f, x, (2, 3, 8, 32, 67)) == 0
            near = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 0.05}[dtype]
            torch.testing.assert_close(example["log_softmax"](x), torch.log_softmax(x, -1), rtol=near, atol=near * 100)
            torch.testing.assert_close(example["rms_norm"](x, weight), torch.nn.functional.rms_norm(x, (columns,), weight, 1e-6), rtol=near, atol=near)
    # What the function counts can be other than 0: a sum whose order depends on the batch.
    x = torch.randn(8, 1000, generator=torch.Generator().manual_seed(4))
    assert example["rows_that_differ"](lambda v: v[:, :1] * len(v), x, (2,)) == 8
    y = x[:2, :40].double().clamp(-2, 2).requires_grad_()
    assert torch.autograd.gradcheck(example["log_softmax"], (y,)) and torch.autograd.gradcheck(lambda v: example["rms_norm"](v, torch.ones(40, dtype=torch.float64)), (y,))
    example["main"]()
    told = capsys.readouterr().out
    assert told.count("warpfold's: 0\n") == 2, told


def test_subclasses_of_tensors_are_answered_by_tensors():
    class Other(torch.Tensor):
        pass
    x = torch.arange(6.0).reshape(2, 3)
    for given in (x.as_subclass(Other), torch.nn.Parameter(x, requires_grad=False), (-x.as_subclass(Other)) * -1):
        the_same(wf.sum(given, axis=0), wf.sum(x, axis=0))
        the_same(wf.mean_var(given)[1], wf.var(x))
        out = torch.empty(3).as_subclass(Other)
        assert wf.sum(given, axis=0, out=out) is out and out.tolist() == [3, 5, 7]
    the_same(wf.sum_by_key(x[0], torch.tensor([2, 1, 2]).as_subclass(Other))[0], torch.tensor([1, 2]))


def test_the_packages_functions_inside_what_pytorch_compiles():
    x, labels = torch.arange(6.0), torch.tensor([0, 1, 0, 1, 0, 1])
    for f in (lambda v: wf.sum(v) * 2, lambda v: wf.max(v.reshape(2, 3), axis=0) + 1, lambda v: wf.sum_by_label(v, labels), lambda v: v * wf.ExactSum(v).value()):
        torch._dynamo.reset()
        the_same(torch.compile(f, backend="eager")(x), f(x))
