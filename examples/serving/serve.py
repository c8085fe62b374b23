"""A toy server: a small language model with random weights reads prompts (prefill) and makes tokens (decode), with a KV
cache. Its steps are ranges that say their kind, batch size and tokens, so that rocm-perf tells them apart:

    rocm-perf profile -d run -- python examples/serving/serve.py
    rocm-perf analyze run --show serving

It runs on a GPU, or on a CPU where there is none (`--profiler torch` records it there), and prints one JSON object with
what it counted and timed by itself.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.queues import Queue

import torch
from torch.nn.functional import gelu, scaled_dot_product_attention

import rocm_perf


@dataclass(frozen=True)
class Shape:
    """The model."""

    width: int
    heads: int
    layers: int
    vocabulary: int = 4096


SMALL, LARGE = Shape(width=128, heads=4, layers=2), Shape(width=2048, heads=16, layers=12)


class Layer(torch.nn.Module):
    """Attention over a cache that is as long as the longest sequence, and a feed-forward network."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(shape.width) for _ in range(2))
        self.qkv = torch.nn.Linear(shape.width, 3 * shape.width)
        self.out = torch.nn.Linear(shape.width, shape.width)
        self.up = torch.nn.Linear(shape.width, 4 * shape.width)
        self.down = torch.nn.Linear(4 * shape.width, shape.width)

    def forward(self, tokens: torch.Tensor, cache: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        batch, length, width = tokens.shape
        heads = self.qkv(self.norms[0](tokens)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads
        cache[0, :batch].index_copy_(2, places, key)
        cache[1, :batch].index_copy_(2, places, value)
        seen = torch.arange(cache.shape[3], device=places.device) <= places[:, None]
        mixed = scaled_dot_product_attention(query, cache[0, :batch], cache[1, :batch], attn_mask=seen)
        tokens = tokens + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return tokens + self.down(gelu(self.up(self.norms[1](tokens))))


class Engine:
    """The model, its cache, and what it counted and timed of its own steps."""

    def __init__(self, shape: Shape, *, device: str, batch: int, longest: int, graphs: bool) -> None:
        torch.manual_seed(0)
        dtype = torch.half if device == "cuda" else torch.float32
        with torch.device(device):
            self.embedding = torch.nn.Embedding(shape.vocabulary, shape.width).to(dtype)
            self.layers = [Layer(shape).to(dtype).eval() for _ in range(shape.layers)]
            head = shape.width // shape.heads
            caches = (shape.layers, 2, batch, shape.heads, longest, head)
            self.cache = torch.zeros(caches, dtype=dtype)
            self.place = torch.zeros(1, dtype=torch.long)
            self.last = torch.zeros((batch, 1), dtype=torch.long)
        self.device, self.graphs = device, graphs
        self.captured: dict[int, torch.cuda.CUDAGraph] = {}
        self.timed: dict[str, list[float]] = defaultdict(list)
        self.tokens: dict[str, int] = defaultdict(int)

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """The next token of each sequence."""
        hidden = self.embedding(tokens)
        for layer, cache in zip(self.layers, self.cache, strict=True):
            hidden = layer(hidden, cache, places)
        return (hidden[:, -1] @ self.embedding.weight.T).argmax(-1, keepdim=True)

    def prefill(self, prompts: torch.Tensor) -> None:
        batch, length = prompts.shape
        places = torch.arange(length, device=self.device)
        self.last[:batch] = self.forward(prompts, places)
        self.place.fill_(length)

    def decode(self, batch: int) -> None:
        if self.graphs:
            self.captured[batch].replay()
        else:
            self._decode(batch)

    def _decode(self, batch: int) -> None:
        self.last[:batch] = self.forward(self.last[:batch], self.place)
        self.place.add_(1)

    def capture(self, batch: int) -> None:
        """The decode step of a batch size as a graph, as servers do it."""
        self._decode(batch)
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._decode(batch)
        self.captured[batch] = graph

    @contextmanager
    def step(self, kind: str, batch: int, tokens: int, *, wait: bool) -> Iterator[None]:
        """A step: a range around it, and what this program itself measures of it."""
        begin = time.perf_counter()
        with rocm_perf.annotate(f"{kind}[bs={batch} tokens={tokens}]"):
            yield
            if wait:
                self.synchronize()
        if wait:
            self.timed[f"{kind} {batch}"].append(time.perf_counter() - begin)
        self.tokens[f"{kind} {batch}"] += tokens


@torch.inference_mode()
def serve(args: argparse.Namespace, batches: Callable[[], Iterator[int]]) -> dict[str, object]:
    """Serves the batches, each with one prefill and many decode steps; what was counted and timed."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = LARGE if device == "cuda" else SMALL
    graphs = args.graphs and device == "cuda"
    longest = args.prompt + args.new + 2
    engine = Engine(shape, device=device, batch=max(args.batches), longest=longest, graphs=graphs)
    with rocm_perf.annotate("warm-up"):
        for batch in sorted(set(args.batches)):
            prompts = torch.zeros((batch, args.prompt), dtype=torch.long, device=device)
            engine.prefill(prompts)
            if graphs:
                engine.capture(batch)
            else:
                engine.decode(batch)
        engine.synchronize()
    begin = time.perf_counter()
    for batch in batches():
        prompts = torch.randint(0, shape.vocabulary, (batch, args.prompt), device=device)
        with engine.step("prefill", batch, batch * args.prompt, wait=args.wait):
            engine.prefill(prompts)
        for _ in range(args.new):
            with engine.step("decode", batch, batch, wait=args.wait):
                engine.decode(batch)
    engine.synchronize()
    return {
        "device": device,
        "seconds": time.perf_counter() - begin,
        "times_s": engine.timed,
        "tokens": engine.tokens,
        "checksum": int(engine.last.sum()),
    }


def _engine_process(args: argparse.Namespace, requests: Queue[int | None], answers: Queue[object]) -> None:
    answers.put(serve(args, lambda: iter(requests.get, None)))


def in_engine_process(args: argparse.Namespace) -> object:
    """As vLLM V1 does it: this process takes the requests, another one runs the model."""
    context = get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    engine = context.Process(target=_engine_process, args=(args, requests, answers), name="engine")
    engine.start()
    for batch in [*args.batches, None]:
        requests.put(batch)
    answer = answers.get()
    engine.join()
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[8, 4, 8, 4], help="requests served together"
    )
    parser.add_argument("--prompt", type=int, default=256, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=32, help="tokens to make for each request")
    parser.add_argument("--graphs", action="store_true", help="replay decode steps as graphs (on a GPU)")
    parser.add_argument("--run-ahead", dest="wait", action="store_false", help="do not wait for each step")
    parser.add_argument("--engine-process", action="store_true", help="run the model in a process of its own")
    args = parser.parse_args()
    answer = in_engine_process(args) if args.engine_process else serve(args, lambda: iter(args.batches))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
