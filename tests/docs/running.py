"""Python in the documentation is run, with `await` wherever it stands."""

import ast
import inspect
import re
from types import CodeType
from typing import Any

FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def fences(markdown: str) -> list[str]:
    return FENCE.findall(markdown)


async def run(source: str, names: dict[str, Any]) -> None:
    """Run it; what it defines is in `names` afterwards."""
    code: CodeType = compile(source, "documentation", "exec", flags=_AWAIT)
    result = eval(code, names)
    if inspect.isawaitable(result):
        await result
