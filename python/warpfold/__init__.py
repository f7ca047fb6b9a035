# SPDX-License-Identifier: Apache-2.0
"""Exact and fast reductions of arrays: the true answer, rounded once, whatever the order of the elements.

>>> import warpfold as wf
>>> float(wf.sum([1e308, 1.0, -1e308]))
1.0
"""

from . import _functions
from ._functions import (
    all, any, argmax, argmin, count_nonzero, dot, fuse, logsumexp, max, mean, mean_var, min, minmax, nanmax, nanmean, nanmin,
    nansum, nanvar, norm, norm1, norm_inf, prod, reduce_by_label, segment_argmax, segment_argmin, segment_count_nonzero,
    segment_logsumexp, segment_max, segment_mean, segment_min, segment_norm, segment_prod, segment_reduce, segment_std,
    segment_sum, segment_var, std, sum, sum_by_key, sum_by_label, sum_of_squares, var)
from ._states import ExactMoments, ExactSum
from ._twins import fmean, fsum, sumprod
from ._version import __version__

__all__ = [
    "CompileError", "ExactMoments", "ExactSum", "Reduction", "__version__", "all", "any", "argmax", "argmin", "count_nonzero", "dot", "explain", "fmean", "fsum", "fuse",
    "ladder", "logsumexp", "max", "mean", "mean_var", "min", "minmax", "nanmax", "nanmean", "nanmin", "nansum", "nanvar", "norm", "norm1",
    "norm_inf", "prod", "reduce_by_label", "segment_argmax", "segment_argmin", "segment_count_nonzero", "segment_logsumexp",
    "segment_max", "segment_mean", "segment_min", "segment_norm", "segment_prod", "segment_reduce", "segment_std", "segment_sum",
    "segment_var", "statistics", "std", "sum", "sum_by_key", "sum_by_label", "sum_of_squares", "sumprod", "var"]
__all__ += _functions.OF_TABLE
globals().update({name: getattr(_functions, name) for name in _functions.OF_TABLE})


TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import dask, distributed, jax, numpy, states, statistics, torch, xarray
    from ._compile import CompileError
    from ._functions import count as count
    from ._own import Reduction
    from ._study import explain, ladder

_LATER = {"CompileError": "_compile", "Reduction": "_own", "explain": "_study", "ladder": "_study"}  # imported when they are asked for: what they need takes a while
_MODULES = ("dask", "distributed", "jax", "numpy", "states", "statistics", "torch", "xarray")  # the same


if not TYPE_CHECKING:  # a checker is told of each name above, and of no other
    def __getattr__(name: str):
        import importlib
        if name in _LATER:
            return getattr(importlib.import_module("warpfold." + _LATER[name]), name)
        if name in _MODULES:
            return importlib.import_module("warpfold." + name)
        raise AttributeError(f"module 'warpfold' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULES})
