"""The networks and groupings of cfqp in PyTorch and scikit-learn, for `cfqp-lab bench --peers`.

Reads one request per line on standard input and answers each with one line of JSON:

    step NAME BATCH STEPS      median milliseconds of a training step (forward, backward, Adam)
    kmeans N D K ROUNDS        seconds of Lloyd's iterations on N x D random values from their first K rows
    mixture N D K ROUNDS       the same for a diagonal Gaussian mixture
    quit

Plain eager PyTorch on two threads, as one would write it.
"""

import json
import os
import statistics
import sys
import time
import warnings

THREADS = int(os.environ.get("CFQP_BENCH_THREADS", "2"))


def networks(torch):
    nn, F = torch.nn, torch.nn.functional

    class Fourier(nn.Module):
        """sin and cos of 128 random frequencies, linear, swish."""

        def __init__(self, width, frequencies=128, scale=30.0):
            super().__init__()
            self.register_buffer("w", torch.randn(1, frequencies) * scale)
            self.linear = nn.Linear(2 * frequencies, width)

        def forward(self, t):
            angle = t @ self.w * (2 * torch.pi)
            return F.silu(self.linear(torch.cat([angle.sin(), angle.cos()], 1)))

    class Mlp(nn.Module):
        def __init__(self, x=40, y=40, width=256):
            super().__init__()
            sizes = [x + 1, width, width, width]
            self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
            self.out = nn.Linear(width, y)

        def forward(self, x, t):
            h = torch.cat([x.flatten(1), t], 1)
            for layer in self.layers:
                h = F.silu(layer(h))
            return self.out(h)

    class Unet(nn.Module):
        def __init__(self, dims, inputs, outputs, channels=(32, 64, 128, 256), embed=256):
            super().__init__()
            conv, tconv = (nn.Conv1d, nn.ConvTranspose1d) if dims == 1 else (nn.Conv2d, nn.ConvTranspose2d)
            self.dims, (a, b, c, d) = dims, channels
            self.embed = Fourier(embed)
            self.down = nn.ModuleList(
                conv(i, o, 3, stride=s, bias=False) for i, o, s in [(inputs, a, 1), (a, b, 2), (b, c, 2), (c, d, 2)]
            )
            self.down_term = nn.ModuleList(nn.Linear(embed, o) for o in channels)
            self.down_norm = nn.ModuleList(nn.GroupNorm(g, o) for g, o in zip((4, 32, 32, 32), channels))
            self.up = nn.ModuleList(tconv(i, o, 3, stride=2, bias=False) for i, o in [(d, c), (2 * c, b), (2 * b, a)])
            self.up_term = nn.ModuleList(nn.Linear(embed, o) for o in (c, b, a))
            self.up_norm = nn.ModuleList(nn.GroupNorm(32, o) for o in (c, b, a))
            self.out = tconv(2 * a, outputs, 3, stride=1)

        def block(self, h, conv, term, norm, e, size=None):
            h = conv(h) if size is None else conv(h, output_size=size)
            return F.silu(norm(h + term(e).reshape(len(e), -1, *[1] * self.dims)))

        def forward(self, x, t):
            e, twins, h = self.embed(t), [], x
            for parts in zip(self.down, self.down_term, self.down_norm):
                twins.append(h)
                h = self.block(h, *parts, e)
            twins = twins[1:]
            for i, parts in enumerate(zip(self.up, self.up_term, self.up_norm)):
                twin = twins.pop()
                h = torch.cat([self.block(h, *parts, e, size=twin.shape[2:]), twin], 1)
            return self.out(h).flatten(1)

    class Transformer(nn.Module):
        """Steps of x, then blanks; steps of x attend to steps up to themselves, blanks to everything."""

        def __init__(self, channels=2, steps=20, width=64, layers=3, heads=8, wide=512, embed=8):
            super().__init__()
            self.steps, self.embed = steps, Fourier(embed)
            scales = 100 ** torch.linspace(0, 1, 5)
            angle = torch.arange(2 * steps)[:, None] / scales
            self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], 1))
            seen = torch.ones(2 * steps, 2 * steps, dtype=torch.bool)
            seen[:steps] = torch.tril(seen)[:steps]
            self.register_buffer("hidden", ~seen)
            self.input = nn.Linear(10 + channels + embed, width)
            self.maps = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
            self.attention = nn.ModuleList(
                nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True) for _ in range(layers)
            )
            self.norm1 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
            self.wide = nn.ModuleList(nn.Linear(width, wide) for _ in range(layers))
            self.narrow = nn.ModuleList(nn.Linear(wide, width) for _ in range(layers))
            self.norm2 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
            self.drop, self.out = nn.Dropout(0.1), nn.Linear(width, channels)

        def forward(self, x, t):
            n, channels, steps = x.shape
            told = torch.cat([x.transpose(1, 2), self.embed(t)[:, None].expand(-1, steps, -1)], 2)
            told = torch.cat([told, torch.zeros_like(told)], 1)
            h = self.input(torch.cat([self.positions.expand(n, -1, -1), told], 2))
            parts = zip(self.maps, self.attention, self.norm1, self.wide, self.narrow, self.norm2)
            for embed, attention, norm1, wide, narrow, norm2 in parts:
                e = embed(h)
                a, _ = attention(e, e, e, attn_mask=self.hidden, need_weights=False)
                h = norm1(h + self.drop(a))
                h = norm2(h + self.drop(narrow(self.drop(F.relu(wide(h))))))
            return self.out(h[:, steps - 1 : -1]).transpose(1, 2).flatten(1)

    return {
        "mlp": (lambda: Mlp(), (2, 20), 40),
        "unet-1d": (lambda: Unet(1, 2, 2), (2, 20), 40),
        "unet-2d": (lambda: Unet(2, 1, 3), (1, 28, 28), 2352),
        "transformer": (lambda: Transformer(), (2, 20), 40),
    }


class Steps:
    def __init__(self):
        import torch

        torch.set_num_threads(THREADS)
        torch.manual_seed(1)
        self.torch, self.known, self.ready = torch, networks(torch), {}

    def prepare(self, name, batch):
        torch = self.torch
        make, shape, outputs = self.known[name]
        net = make().train()
        data = torch.randn(batch, *shape), torch.rand(batch, 1), torch.randn(batch, outputs)
        return net, torch.optim.Adam(net.parameters()), data

    def run(self, name, batch, steps):
        if (name, batch) not in self.ready:
            self.ready[name, batch] = self.prepare(name, batch)
        net, adam, (x, t, y) = self.ready[name, batch]
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            adam.zero_grad()
            loss = ((net(x, t) - y) ** 2).mean()
            loss.backward()
            adam.step()
            loss.item()
            times.append(time.perf_counter() - start)
        return {"ms": 1e3 * statistics.median(times), "version": "PyTorch " + self.torch.__version__}


def group(kind, n, width, classes, rounds):
    import numpy as np
    import sklearn
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    warnings.filterwarnings("ignore")
    random = np.random.default_rng(4)
    centers = random.uniform(-0.1, 0.1, (classes, width)).astype("f4")
    rows = random.random((n, width), "f4") * 2 - 1 + centers[np.arange(n) % classes]
    with threadpool_limits(THREADS):
        start = time.perf_counter()
        if kind == "kmeans":
            KMeans(classes, init=rows[:classes], n_init=1, max_iter=rounds, tol=0, algorithm="lloyd").fit(rows)
        else:
            ones = np.ones((classes, rows.shape[1]), rows.dtype)
            GaussianMixture(
                classes, covariance_type="diag", tol=0, max_iter=rounds, means_init=rows[:classes],
                precisions_init=ones, weights_init=np.full(classes, 1 / classes), init_params="random_from_data",
            ).fit(rows)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "version": "scikit-learn " + sklearn.__version__}


def main():
    steps = None
    for line in sys.stdin:
        request, *rest = line.split()
        if request == "quit":
            return
        try:
            if request == "step":
                steps = steps or Steps()
                answer = steps.run(rest[0], int(rest[1]), int(rest[2]))
            else:
                answer = group(request, *map(int, rest))
        except ImportError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
