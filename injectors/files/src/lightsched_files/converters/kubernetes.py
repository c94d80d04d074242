"""Which events do the CronJobs of Kubernetes manifests hold? One each; its payload is the Job that is to be created.

| CronJob | event |
|---|---|
| `schedule` `timeZone` | `cron` (or `every`, for `@every 1h`), `timezone` |
| `concurrencyPolicy` | `overlap`: Allow is `allow`, Forbid is `skip`, Replace has no equivalent |
| `startingDeadlineSeconds` | `look_back` and `expires_in`; without one the latest run is caught up, however old |
| `suspend` | a `pause` after it; `false` a `resume` |
| `jobTemplate` | a `kubernetes.job` with the whole Job as payload |
| `backoffLimit` of a Job of one pod | `retry`, and 0 in the Job: one of the two tries again |
| `activeDeadlineSeconds` | `timeout`; it stays in the Job, too |

Documents of other kinds are passed over. YAML is read without aliases: a manifest has no use for a billion of them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from lightsched_files.converters.options import Options, options_of, without_equivalent
from lightsched_files.converting import Converted, EventLine, Problem, Source

_LARGEST = 4 << 20  # characters of a document
_HOWEVER_OLD = "10y"
_BACKOFF = {"delay": "10s", "factor": 2, "max": "6m"}  # the Job controller's
_OVERLAP = {"Allow": "allow", "Forbid": "skip", "Replace": "allow"}
_LIMITS = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_KNOWN = {"schedule", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds", "suspend", "jobTemplate", *_LIMITS}
_MANY_PODS = ("completions", "parallelism", "completionMode", "podFailurePolicy", "backoffLimitPerIndex")
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)")
_NEXT = re.compile(r"(?:---|\.\.\.)(?:\s|$)")


def kubernetes_cronjob(lines: Iterable[str], source: Source) -> Iterator[Converted]:
    """Manifests in YAML or JSON, one or several in a file, alone or in a List."""
    options = options_of(source, Options)
    first, found = 1, False
    try:
        for first, text in _documents(lines):
            for line, manifest in _manifests(text):
                if manifest.get("kind") == "CronJob":
                    found = True
                    yield from _converted(first + line, manifest, source, options)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        yield Problem(first + (mark.line if mark else 0), f"is no manifest: {error.problem}")
        return
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Problem(first, f"is no manifest: {str(error).splitlines()[0]}")
        return
    if not found:
        yield Problem(1, "holds no CronJob")


def _documents(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each with the number of its first line."""
    first, held, size = 1, list[str](), 0
    for number, line in enumerate(lines, start=1):
        if _NEXT.match(line):
            yield first, "\n".join(held)
            first, held, size = number, [], 0
            line = line[3:]  # noqa: PLW2901 -- what follows the mark is part of the document
        held.append(line)
        size += len(line) + 1
        if size > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST:,} characters: split it")
    yield first, "\n".join(held)


def _manifests(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a document, each with its line in it."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            return
        whole = loader.construct_document(node)
        if not str(whole.get("kind", "")).endswith("List"):
            yield node.start_mark.line, whole
            return
        items = next((value for key, value in node.value if key.value == "items"), None)
        for item, manifest in zip(items.value if items else (), whole.get("items") or (), strict=True):
            if isinstance(manifest, dict):
                yield item.start_mark.line, manifest
    finally:
        loader.dispose()


def _converted(line: int, manifest: dict[str, Any], source: Source, options: Options) -> Iterator[Converted]:
    metadata, spec = (manifest.get(name) for name in ("metadata", "spec"))
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield Problem(line, "the CronJob has no `metadata.name`")
        return
    name = f"{metadata.get('namespace', 'default')}/{metadata['name']}"
    if not isinstance(spec, dict) or not isinstance(spec.get("schedule"), str):
        yield Problem(line, f"the CronJob {name} has no `spec.schedule`")
        return
    template = spec.get("jobTemplate")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        yield Problem(line, f"the CronJob {name} has no `spec.jobTemplate.spec`")
        return
    problems = [f"{field} is no setting of a CronJob: correct or remove it" for field in sorted(spec.keys() - _KNOWN)]
    problems += _missing(spec, options)
    if problems:
        yield from (Problem(line, f"the CronJob {name}: {problem}") for problem in problems)
        return
    fields = options.apply({"id": name, **_when(spec, options), **_what(metadata, spec, template, source)})
    yield EventLine(line, fields)
    if "suspend" in spec:
        op = "pause" if spec["suspend"] else "resume"
        identity = {field: fields[field] for field in fields.keys() & {"tenant", "key", "id"}}
        yield EventLine(line, {"op": op, **identity, "reason": f"suspend in {source.name}"})


def _missing(spec: dict[str, Any], options: Options) -> Iterator[str]:
    for field in _LIMITS:
        if spec.get(field) is not None and field not in options.accept:
            yield without_equivalent(
                f"{field}={spec[field]}",
                "finished runs are kept for a time (`history.keep`), not by their number",
                "Give the Job a `ttlSecondsAfterFinished`",
            )
    policy = spec.get("concurrencyPolicy", "Allow")
    if policy not in _OVERLAP:
        yield f"the concurrencyPolicy {policy!r} is unknown: write Allow, Forbid or Replace"
    elif policy == "Replace" and "concurrencyPolicy" not in options.accept:
        why = "a run that is out at an executor is not stopped for the next one"
        yield without_equivalent("concurrencyPolicy=Replace", why, "Write Forbid or Allow", "take Allow")


def _when(spec: dict[str, Any], options: Options) -> dict[str, Any]:
    schedule, zone = spec["schedule"].strip(), spec.get("timeZone")
    if prefixed := _ZONE.fullmatch(schedule):
        zone, schedule = zone or prefixed[1], prefixed[2]
    deadline = spec.get("startingDeadlineSeconds")
    fields = {"timezone": zone or options.timezone or "UTC", "look_back": _HOWEVER_OLD}
    if schedule.startswith("@every "):
        fields["every"] = schedule.removeprefix("@every ").strip()
    else:
        fields["cron"] = _cron(schedule)
    if deadline is not None:
        fields["look_back"] = fields["expires_in"] = f"{deadline}s"
    return fields


def _cron(schedule: str) -> str:
    """Kubernetes takes `?` for `*`; and of two day fields one is enough also where one of them is `*/2`."""
    texts = ["*" if text == "*/1" else text for text in schedule.replace("?", "*").split()]
    if len(texts) == 5 and "*" not in (texts[2], texts[4]):
        texts[2], texts[4] = (
            text.replace("*", whole, 1) if text.startswith("*") else text
            for text, whole in ((texts[2], "1-31"), (texts[4], "0-6"))
        )
    return " ".join(texts)


def _what(metadata: dict[str, Any], spec: dict[str, Any], template: dict[str, Any], source: Source) -> dict[str, Any]:
    job, namespace = dict(template["spec"]), metadata.get("namespace", "default")
    job_metadata = {"generateName": f"{metadata['name']}-", "namespace": namespace, **(template.get("metadata") or {})}
    fields: dict[str, Any] = {
        "type": "kubernetes.job",
        "overlap": _OVERLAP[spec.get("concurrencyPolicy", "Allow")],
        "labels": {**(metadata.get("labels") or {}), "namespace": namespace, "source": source.name},
        "payload": {"apiVersion": "batch/v1", "kind": "Job", "metadata": job_metadata, "spec": job},
    }
    retries = job.get("backoffLimit", 6)
    if isinstance(retries, int) and retries > 0 and not any(name in job for name in _MANY_PODS):
        fields["retry"] = {"attempts": retries + 1, **_BACKOFF}
        job["backoffLimit"] = 0
    if "activeDeadlineSeconds" in job:
        fields["timeout"] = f"{job['activeDeadlineSeconds']}s"
    return fields


class _Loader(yaml.SafeLoader):
    """Takes no aliases, and leaves dates as they are written."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- as PyYAML wants it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.composer.ComposerError(None, None, "aliases (`*`) are not taken: write it out", mark)
        return super().compose_node(parent, index)
