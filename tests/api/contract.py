"""What does the document promise? Its calls, made into requests, and a check of every answer against it."""

import json
import re
from urllib.parse import quote

import jsonschema_rs


class Contract:
    """An OpenAPI document, and what was seen of it."""

    def __init__(self, document):
        self.document = document
        self.calls = {
            operation["operationId"]: Call(method.upper(), path, operation)
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }
        self.seen = {}
        """Call and status → where."""

    @property
    def promised(self):
        return {(name, int(status)) for name, call in self.calls.items() for status in call.operation["responses"]}

    async def check(self, response):
        """An answer must be one that is documented, as it is documented. A hook of httpx."""
        await response.aread()
        request = response.request
        name, call = self.called(request.method, request.url.raw_path.partition(b"?")[0].decode())
        where = f"{request.method} {request.url} → {response.status_code}: {response.text[:500]}"
        documented = call.operation["responses"].get(str(response.status_code))
        assert documented is not None, f"not documented: {where}"
        content = documented.get("content")
        if not content:
            assert response.content == b"", f"documented without a body: {where}"
        else:
            media_type = response.headers["content-type"].partition(";")[0]
            assert media_type in content, f"documented as {list(content)}: {where}"
            if media_type.endswith("json"):
                whole = {"components": self.document["components"], **content[media_type]["schema"]}
                jsonschema_rs.validate(whole, response.json())
        self.seen.setdefault((name, response.status_code), where)

    def called(self, method, path):
        """The call that a request was: the one with the fewest names in its path."""
        fitting = [(name, call) for name, call in self.calls.items() if call.method == method and call.is_at(path)]
        assert fitting, f"not documented: {method} {path}"
        return min(fitting, key=lambda found: found[1].path.count("{"))


class Call:
    """One operation of the document."""

    def __init__(self, method, path, operation):
        self.method, self.path, self.operation = method, path, operation
        self._path = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))

    def is_at(self, path):
        return self._path.fullmatch(path) is not None

    def can(self, status):
        return str(status) in self.operation["responses"]

    @property
    def media_type(self):
        return next(iter(self.operation.get("requestBody", {}).get("content", {})), None)

    def request(self, *, headers=None, params=None, content=None, **names):
        """As its examples have it; what is given instead goes in its place."""
        path, query, head = self.path, {}, {}
        for parameter in self.operation.get("parameters", []):
            value = example_of(parameter)
            if parameter["in"] == "path":
                value = names.get(parameter["name"], value)
                path = path.replace(f"{{{parameter['name']}}}", quote(str(value), safe=""))
            elif parameter.get("required"):
                (query if parameter["in"] == "query" else head)[parameter["name"]] = value
        if self.media_type and content is None:
            content = json.dumps(example_of(self.operation["requestBody"]["content"][self.media_type]))
        if self.media_type:
            head["content-type"] = self.media_type
        return {
            "method": self.method,
            "url": path,
            "params": query | (params or {}),
            "headers": head | (headers or {}),
            "content": content,
        }


def example_of(described):
    """Of a parameter or a body."""
    if "example" in described:
        return described["example"]
    if "examples" in described:
        return next(iter(described["examples"].values()))["value"]
    schema = described["schema"]
    return schema["examples"][0] if "examples" in schema else schema.get("default")
