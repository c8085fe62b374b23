"""A proposer that asks a language model on any server with OpenAI's interface; the standard library is all it needs.

export OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_MODEL=name-of-the-model OPENAI_API_KEY=key
rocm-perf optimize softmax_testbed.cpp --proposer "python examples/proposers/openai_compatible.py"

What the model answers is only proposed: rocm-perf proves and measures it, or refuses it.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

INSTRUCTIONS = """You make GPU kernels faster without changing what they compute. You are told of one kernel, what holds
it back, and what came of earlier attempts: do not repeat those. You may change the text of the kernel and nothing else:
not its name, its parameters, its launches, other functions. Every result is compared with the original's on new inputs.
Answer with up to three kernels, each whole, from its first line to its last brace, in a block of its own:

```cpp name of the change
...
```"""


def question(request: dict[str, Any]) -> str:
    """What the model is told, as text."""
    attempts = [
        f"- {one['name']}: {one['verdict']}, {one['reason']}\n{one['patch']}" for one in request["attempts"]
    ]
    profile = ", ".join(f"{name} {value}" for name, value in request["profile"].items() if value is not None)
    fast_math = "allowed" if request["allowed"]["fast_math"] else "not allowed"
    return "\n\n".join(
        [
            f"Architecture: {request['arch']}. Compiler: {request['compiler']}.",
            f"Held back by: {request['cause']} ({request['because']}). Profile: {profile or 'none'}.",
            f"Approximate or narrower arithmetic is {fast_math}.",
            f"The source, {request['file']}:\n```cpp\n{request['source']}\n```",
            f"The kernel:\n```cpp\n{request['kernel']['text']}\n```",
            "Earlier attempts:\n" + ("\n".join(attempts) or "none"),
        ]
    )


def ask(text: str) -> str:
    """The model's answer."""
    base, model = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_MODEL")
    if not base or not model:
        sys.exit("set OPENAI_BASE_URL, such as http://localhost:8000/v1, and OPENAI_MODEL")
    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": text}]
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    body = json.dumps({"model": model, "messages": messages}).encode()
    query = urllib.request.Request(base.rstrip("/") + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(query, timeout=float(os.environ.get("OPENAI_TIMEOUT", "240"))) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"] or "")
    except urllib.error.HTTPError as error:
        sys.exit(f"the server refused: {error.code} {error.read(300).decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"no answer from {base}: {error}")
    except (ValueError, LookupError, TypeError) as error:
        sys.exit(f"the server's answer is not as OpenAI documents it: {type(error).__name__} {error}")


def patches(answer: str) -> list[dict[str, str]]:
    """The blocks of code in an answer, each a new text of the kernel."""
    blocks: list[dict[str, str]] = []
    block: dict[str, str] | None = None
    for line in answer.splitlines():
        if not line.lstrip().startswith("```"):
            if block is not None:
                block["kernel"] += line + "\n"
        elif block is None:
            _, _, name = line.strip().removeprefix("```").partition(" ")
            block = {"name": name or f"proposal {len(blocks) + 1}", "kernel": ""}
        else:
            blocks.append(block)
            block = None
    return [block for block in blocks if "__global__" in block["kernel"]]


if __name__ == "__main__":
    reply = ask(question(json.load(sys.stdin)))
    print(json.dumps({"schema_version": 1, "patches": patches(reply)}))
