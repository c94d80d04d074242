"""What becomes of cron files and timers that nobody here wrote? `python -m tests.injectors.files.converters.survey DIR`

Converts every `cron.d/*`, `crontab` and `*.timer` below a directory, such as one with unpacked packages
(`apt-get download`, `dpkg-deb -x`), and says how many there were and what had no equivalent.
"""

import sys
from collections import Counter
from pathlib import Path

from lightsched.client.checking import problems_of
from lightsched.client.fields import prepare_event
from lightsched_files.converters import system_crontab, systemd_timer
from lightsched_files.converting import EventLine, Problem, Source


def converter_of(path):
    """Who reads this file, or nothing."""
    if path.suffix == ".timer":
        return systemd_timer
    in_cron = path.parent.name == "cron.d" and not path.name.startswith(".")
    return system_crontab if in_cron or path == path.parent / "crontab" else None


def converted(path, **options):
    """Its events and problems; an event that makes no sense is a problem, too."""
    lines = path.read_text(encoding="utf-8").splitlines()
    source = Source(path.name, 0, {"timezone": "UTC", **options})
    for each in converter_of(path)(lines, source):
        wrong = problems_of(prepare_event(each.fields, "default").body) if isinstance(each, EventLine) else ()
        yield Problem(each.line, f"INVALID: {wrong[0]}") if wrong else each


def main(directory):
    counts, reasons = Counter(), Counter()
    for path in sorted(Path(directory).rglob("*")):
        if path.is_file() and not path.is_symlink() and converter_of(path):
            kind = converter_of(path).__name__
            found = list(converted(path))
            problems = [each for each in found if isinstance(each, Problem)]
            counts.update({f"{kind}: files": 1, f"{kind}: events": len(found) - len(problems)})
            counts.update({f"{kind}: files without a problem": not problems, f"{kind}: problems": len(problems)})
            for problem in problems:
                reasons[problem.message.split("=")[0].split(" has ")[0]] += 1
                print(f"{path.name}:{problem.line}: {problem.message}")
    for name, count in [*sorted(counts.items()), *reasons.most_common()]:
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main(sys.argv[1])
