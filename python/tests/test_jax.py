# SPDX-License-Identifier: Apache-2.0
"""warpfold.jax: the package's own answers, bit for bit, eager and inside jit; derivatives; what is refused."""

import numpy as np
import pytest

import warpfold as wf
from warpfold import _compile

jax = pytest.importorskip("jax")
jnp = jax.numpy
try:
    _compile.compiler()
    from warpfold import jax as wfj
except (FileNotFoundError, ModuleNotFoundError) as e:
    pytest.skip(str(e), allow_module_level=True)

FUNCTIONS = [name for name in wfj.__all__ if name != "dot"]
HOW = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as m:
        m.setenv("WARPFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def the_same(got, expected):
    assert isinstance(got, jax.Array)
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape, got.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def elements(dtype):
    rng = np.random.default_rng(7)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal((3, 40)) + 1j * rng.standard_normal((3, 40))).astype(dtype)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal((3, 40)) * 10.0**rng.integers(-3, 3, (3, 40))).astype(dtype)
    return rng.integers(0, 2 if dtype == "bool" else 100, (3, 40)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64", "bool", "complex64", "complex128"])
def test_every_function_gives_the_packages_bits(dtype, x64):
    x = elements(dtype)
    expected = {("dot", 0): wf.dot(x, x[0], axis=1)}
    for name in FUNCTIONS:
        for k, how in enumerate(HOW):
            try:
                expected[name, k] = getattr(wf, name)(x, **how)
            except TypeError as e:
                with pytest.raises(TypeError) as caught:
                    getattr(wfj, name)(jnp.asarray(x), **how)
                assert str(caught.value) == str(e)

    @jax.jit  # once, for compiling takes the time here
    def found(v):
        return {(name, k): wfj.dot(v, v[0], axis=1) if name == "dot" else getattr(wfj, name)(v, **HOW[k]) for name, k in expected}
    for (name, k), answer in found(x).items():
        the_same(answer, expected[name, k])
    assert len(expected) > 40 if dtype[0] != "c" else len(expected) > 20
    the_same(wfj.sum(jnp.asarray(x)), expected["sum", 0])  # and eager


def test_bf16_and_large_arrays_inside_jit():
    b = jnp.asarray(elements("float32"), jnp.bfloat16)
    assert wfj.sum(b, axis=0).dtype == jnp.bfloat16
    the_same(wfj.sum(b, axis=0), wf.sum(np.asarray(b), axis=0))
    whole = wf.sum(b), wf.argmax(b), wf.count_nonzero(b, axis=0), wf.sum(b, dtype="float32")  # by the package itself, outside
    assert [str(a.dtype) for a in whole] == ["bfloat16", "int32", "int32", "float32"]
    x = (np.random.default_rng(3).standard_normal(300_000) * 1e20).astype(np.float32)
    x[::2] = -x[1::2]
    x[0] += 1
    both = jax.jit(lambda v: (wfj.sum(v) * 2, wfj.var(v, correction=1), wfj.sum(v.reshape(300, 1000), axis=(1,), rounding="up")))
    two, var, rows = both(x)
    the_same(two, 2 * wf.sum(x))
    the_same(var, wf.var(x, correction=1))
    the_same(rows, wf.sum(x.reshape(300, 1000), axis=1, rounding="up"))
    the_same(jax.vmap(wfj.norm)(x.reshape(3, 100_000)), wf.norm(x.reshape(3, 100_000), axis=1))
    the_same(wfj.sum(x, accuracy="fast"), wf.sum(x, accuracy="fast"))


def test_scalars_and_nothing():
    assert float(wfj.sum(3.0)) == 3.0 and float(wfj.sum(jnp.zeros((0, 2)))) == 0
    assert wfj.sum(jnp.zeros((0, 2)), axis=0).tolist() == [0, 0] and np.isnan(float(wfj.mean(jnp.zeros(0))))
    assert wfj.sum(jnp.ones((2, 3)), axis=()).tolist() == [[1.0] * 3] * 2
    with pytest.raises(ValueError, match="^min: there are no elements"):
        wfj.min(jnp.zeros(0))


def test_without_types_of_64_bits():
    x = jnp.asarray([2**31 - 1, 2**31 - 1, 5], jnp.int32)
    assert wfj.sum(x).dtype == jnp.int32 and int(wfj.sum(x)) == 3  # mod 2^32
    assert wfj.argmin(x).dtype == jnp.int32 and int(wfj.argmin(x)) == 2
    assert wfj.mean(x).dtype == jnp.float32 and float(wfj.mean(x)) == np.float32((2 * (2**31 - 1) + 5) / 3)
    with pytest.raises(TypeError, match="^norm: the answer is float64, which JAX has not without jax_enable_x64"):
        wfj.norm(x)


@pytest.mark.parametrize("how", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}])
def test_derivatives_are_those_of_differences(how, x64):
    from jax.test_util import check_grads
    x = np.linspace(0.5, 2.0, 6).reshape(2, 3)**2
    names = ("sum", "mean", "var", "std", "sum_of_squares", "norm", "logsumexp")
    check_grads(jax.jit(lambda v: [getattr(wfj, name)(v, **how) for name in names]), (x,), order=1, modes=["fwd", "rev"])


def test_derivatives_of_dots_and_at_zero(x64):
    x, y = jnp.asarray([1.0, 2.0]), jnp.asarray([3.0, 5.0])
    dx, dy = jax.jit(jax.grad(wfj.dot, argnums=(0, 1)))(x, y)
    assert dx.tolist() == [3.0, 5.0] and dy.tolist() == [1.0, 2.0]
    assert jax.grad(wfj.norm)(jnp.zeros(2)).tolist() == [0.0, 0.0]


def test_corrections_that_are_fractions(x64):
    x = np.random.default_rng(6).standard_normal((30, 5)) * 7
    for dtype in ("float32", "float64", "int16"):
        given = x.astype(dtype)
        for correction in (0.5, -2.25, 29.5, 30.5):
            for name in ("var", "std"):
                for axis in (None, 0, 1):
                    found = jax.jit(lambda v: getattr(wfj, name)(v, axis=axis, correction=correction))(jnp.asarray(given))  # noqa: B023
                    the_same(found, getattr(wf, name)(given, axis=axis, correction=correction))
    assert jax.grad(lambda v: wfj.var(v, correction=0.5))(jnp.asarray([1.0, 3.0])).tolist() == [-2 / 1.5, 2 / 1.5]
    for few in (2, 2.5, 3):  # elements for a variance
        for f in (wfj.var, wfj.std):
            assert np.isnan(jax.grad(lambda v: f(v, correction=few))(jnp.asarray([1.0, 3.0]))).all()  # noqa: B023


def test_wrong_arguments():
    x = jnp.ones((2, 3))
    for call, kind, message in ((lambda: wfj.sum(x, axis=2), ValueError, "axis 2"), (lambda: wfj.argmin(x, axis=(0, 1)), TypeError, "one axis"),
                                (lambda: wfj.sum(x, rounding="odd"), ValueError, "rounding="), (lambda: wfj.sum(x, accuracy="so"), ValueError, "accuracy="),
                                (lambda: wfj.var(x, correction=float("inf")), ValueError, "finite number"),
                                (lambda: wfj.sum(jnp.ones(2, jnp.float8_e5m2)), TypeError, "dtype=")):
        with pytest.raises(kind, match=message):
            call()


def test_inside_jit_the_name_of_the_function_for_it_is_told():
    with pytest.raises(TypeError, match="^sum: an array that JAX traces.*warpfold.jax.sum"):
        jax.jit(lambda x: wf.sum(x))(jnp.ones(3))


def test_every_function_has_an_example_which_runs():
    import doctest
    import inspect
    found = doctest.testmod(wfj)
    assert found.failed == 0 and found.attempted >= 4 * len(wfj.__all__)
    for name in wfj.__all__:
        f = getattr(wfj, name)
        told = inspect.getdoc(f)
        assert all(f"\n{parameter} : " in told for parameter in inspect.signature(f).parameters), name
        assert "References\n----------\n" in told


def test_out_is_none_of_jaxs_arrays():
    out = np.zeros(3, np.float32)
    assert wf.sum(jnp.ones((2, 3), jnp.float32), axis=0, out=out) is out and out.tolist() == [2.0] * 3
    with pytest.raises(TypeError, match="^sum: out= of type ArrayImpl; JAX's arrays are never written"):
        wf.sum(jnp.ones((2, 3), jnp.float32), axis=0, out=jnp.zeros(3, jnp.float32))
