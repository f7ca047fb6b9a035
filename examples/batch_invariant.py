# SPDX-License-Identifier: Apache-2.0
"""RMSNorm and log-softmax of PyTorch's tensors that give a row the same bits whatever batch it is in.

PyTorch's reductions choose their order of additions by the shape of what they are given, so that a row's last bits may depend on how many rows
stand beside it. Here the sum in each of the two is the true one, rounded once, and what is done to each element alone knows of no batch.
Both have derivatives and go through torch.compile.

    python examples/batch_invariant.py
"""

import torch
import warpfold.torch  # noqa: F401  # the operators torch.ops.warpfold.…


def rms_norm(x, weight, eps=1e-6):
    """x / sqrt(mean(x²) + eps) · weight, over the last dimension."""
    mean_square = torch.ops.warpfold.norm(x, [-1], True) ** 2 / x.shape[-1]
    return x / (mean_square + eps).sqrt() * weight


def log_softmax(x):
    """x − log Σ exp(x), over the last dimension."""
    below = x - x.detach().amax(-1, True)
    return below - torch.ops.warpfold.sum(below.exp(), [-1], True).log()


def rows_that_differ(f, x, batches):
    """How many rows have other bits in some batch of so many rows than alone."""
    alone = torch.cat([f(row) for row in x.split(1)])
    differs = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    for rows in batches:
        together = torch.cat([f(part) for part in x.split(rows)])
        differs |= (together != alone).any(dim=-1)
    return int(differs.sum())


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(256, 5000, device=device, generator=torch.Generator(device).manual_seed(1)) * 10
    weight = torch.rand(5000, device=device, generator=torch.Generator(device).manual_seed(2))
    batches = (2, 3, 8, 64, 256)
    for name, ours, theirs in (("RMSNorm", lambda v: rms_norm(v, weight), lambda v: torch.nn.functional.rms_norm(v, (5000,), weight, 1e-6)),
                               ("log-softmax", log_softmax, lambda v: torch.log_softmax(v, -1)),
                               ("x / sqrt(mean(x²) + eps) · weight by PyTorch's mean", None, lambda v: v / ((v * v).mean(-1, keepdim=True) + 1e-6).sqrt() * weight)):
        told = [f"PyTorch's: {rows_that_differ(theirs, x, batches)} of 256 rows differ between batches"]
        if ours is not None:
            assert torch.allclose(ours(x), theirs(x), rtol=1e-5, atol=1e-5)
            told.append(f"warpfold's: {rows_that_differ(ours, x, batches)}")
        print(f"{name} on {device}: " + "; ".join(told))


if __name__ == "__main__":
    main()
