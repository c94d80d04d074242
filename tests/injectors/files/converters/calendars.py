"""When does systemd itself say that an expression elapses?

`python -m tests.injectors.files.converters.calendars` gives each expression to

    TZ=UTC systemd-analyze calendar --iterations=12 --base-time='2026-01-01 00:00:00 UTC' EXPRESSION

and records the answers in `calendars.json`, null where it refuses. So the converter is compared with systemd also where
there is none.
"""

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

RECORDED = Path(__file__).with_name("calendars.json")
PROGRAM = shutil.which("systemd-analyze")
BASE, TIMES = "2026-01-01 00:00:00 UTC", 12
WRITTEN = """
minutely|hourly|daily|weekly|monthly|quarterly|yearly|annually|semiannually|biannually|bi-annually|DAILY|daily UTC
weekly Pacific/Auckland|daily CET|Mon|Mon,|Mon..Fri
Mon-Fri|Monday..Friday|MON..fri 10:00|Sat..Sun|Mon..Sun|Mon..Mon
Sat,Thu,Mon..Wed,Sat..Sun|Mon,Sun 26-*-* 2,1:23|Wed *-1|Wed..Wed,Wed *-1|Wed, 17:48
*-*-7 0:0:0|10-15|monday *-12-* 17:00|Mon,Fri *-*-3,1,2 *:30:45|12,14,13,12:20,10,30|12..14:10,20,30
mon,fri *-1/2-1,3 *:30:45|03-05 08:05:40|08:05:40|05:40|Sat,Sun 12-05 08:05:40|Sat,Sun 08:05:40|2027-03-05 05:40
2027-02..04-05|2027-03-05 05:40 UTC|2027-03-05|*:2/3|*:0/15|*:00/10|*:*|*:*:0/10|*:*:*|*-*-* *:*:00|*-*-* 6,18:00
*-*-* 07..23:30|*-*-1 06:52:00|11,23:45:00|Sun *-*-1..7 1:00:00|Sun *-*-* 03:10:00|Mon *-*-8..21|Tue *-*-29..31
Mon *-*~07/1|Mon *-05~07/1|Fri,Sun *-*~1..7|*-*~01|*-*~1|*-12~03|*-4,6~1..3|*-1,3~3/2|*-12~3..7/2|Sun *-12~5..9
Mon *-*-1,15|Mon..Fri *-*-1|Sun,Wed *-*-13|Sun *-*-10..20/5|*-*-1..10/3|*-*-31..31|*-*-01,15..17/2|*-*-1/30
*:0/59|*:0..10/20|*:5..5/3|00..23/6:00|1..5,7:00|2026..2028-01-01|2027/1-1-1|69-1-1|2026-*-*|*-*~*|@1800000000|5-5
*-1,2,3/3-4|9:00 America/New_York|*-*-* 02:00 Europe/Paris|*-*-5 *:00 Asia/Kolkata|Mon UTC|*-*-* UTC|*-02-29
*/5:00|*:*/5|0/90:0|*:0/90|*:0/60|*:1/59|Fri..Mon|Sun..Mon
24:00|*-13-1|*-*-1/40|22..4:00|*-*~3..1|*-*-~1|10:00:60|1|tues
Mon,,Tue|Mon, Tue 10:00|10:00 *-*-5|UTC|:30|10:|*-*-*T10:00
*-*-0|*-0-1|1969-1-1|*-*~31|*-*~0|*-*~3/5|*-*~1/1|1/0:00
*-*-1,2..4,6/7|*,1:00|1..:00|1,:00|1..2..3:00|1/2/3:00|Mon..
..Mon|Mon-|3000-1-1|5 2026-01-01|*-*-* 1,2,3|10:00 UTC UTC|*-*-* 10 : 00
"""
NO_EQUIVALENT = """
Fri *-*-13|Fri *-12~5..9|Wed..Sat,Tue 26-10-15 1:2:3|Mon,Tue *-*-2..8|*-*~3|*-02~03
*-*~2..4|*-1,4~2|2026/2-1-1|2026,2028-1-1|*:*:0.5|05:40:23.42/3.17
"""


def expressions(text):
    return [expression for line in text.split("\n") for expression in line.split("|") if expression]


def ask(expression, base=BASE):
    """The times in UTC, or None where systemd refuses."""
    done = subprocess.run(
        [PROGRAM, "calendar", f"--iterations={TIMES}", f"--base-time={base}", expression],
        env={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    return re.findall(r"(?:elapse|Iter\. #\d+): \w+ (\S+ \S+) UTC", done.stdout)


def drawn(seed):
    """An expression by chance, most of them good."""
    chance = random.Random(seed)

    def term(low, high):
        first, last = sorted(chance.sample(range(low, high + 1), 2))
        step = chance.randint(1, high)
        return chance.choice(
            [f"{first}", f"{first:02}", f"{first}..{last}", f"{first}/{step}", f"{first}..{last}/{step}"]
        )

    def component(low, high):
        terms = chance.choice([1, 1, 1, 2, 3])
        return "*" if chance.random() < 0.4 else ",".join(term(low, high) for _ in range(terms))

    def weekdays():
        days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        first, last = sorted(chance.sample(range(7), 2))
        return chance.choice([days[first], f"{days[first]},{days[last]}", f"{days[first]}..{days[last]}"])

    parts = [weekdays()] if chance.random() < 0.4 else []
    if chance.random() < 0.7:
        mark = chance.choice("----~")
        year = chance.choice(["*", "*", "*", "2027", "2026..2029"])
        parts.append(f"{year}-{component(1, 12)}{mark}{component(1, 31 if mark == '-' else 9)}")
    if not parts or chance.random() < 0.7:
        parts.append(f"{component(0, 23)}:{component(0, 59)}" + chance.choice(["", "", f":{component(0, 59)}"]))
    return " ".join(parts)


if __name__ == "__main__":
    chosen = [*expressions(WRITTEN), *expressions(NO_EQUIVALENT), *(drawn(seed) for seed in range(200))]
    lines = (f"{json.dumps(expression)}: {json.dumps(ask(expression))}" for expression in dict.fromkeys(chosen))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
