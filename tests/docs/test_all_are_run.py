"""Is there a snippet that nobody runs? Each page's kinds of snippets stand here, with the test that runs them."""

import re
from pathlib import Path

from tests.conformance import test_security
from tests.docs import (
    session,
    test_cli,
    test_client,
    test_converters,
    test_executors,
    test_files,
    test_migrate,
    test_readme,
    test_readme_kafka,
    test_rest,
    test_shipped_executors,
)
from tests.testing import test_tutorial

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)$", re.MULTILINE)
RUN = {
    ("README.md", "bash"): test_readme.test_the_curl_lines_work,
    ("README.md", "console"): test_cli.test_the_session_in_the_readme_is_as_it_happens,
    ("README.md", "python"): test_client.test_the_readme_is_true,
    ("README.md", "sh"): test_readme_kafka.test_two_nodes_and_kcat_are_enough,
    ("docs/cli.md", "console"): test_cli.test_the_page_is_the_help,
    ("docs/client.md", "python"): test_client.test_the_page_is_true,
    (
        "docs/converters.md",
        "python",
    ): test_converters.test_it_is_used_as_the_page_says,
    ("docs/executors.md", "python"): test_executors.test_the_page_is_true,
    ("docs/files.md", "csv"): test_files.test_a_sample_is_good,
    ("docs/files.md", "json"): test_files.test_a_sample_is_good,
    ("docs/files.md", "ndjson"): test_files.test_a_sample_is_good,
    ("docs/files.md", "yaml"): test_files.test_a_sample_is_good,
    ("docs/migrate.md", "python"): test_migrate.test_the_page_is_true,
    ("docs/secured-kafka.md", "yaml"): test_security.test_an_event_goes_all_the_way_and_back,
    ("docs/shipped-executors.md", "json"): test_shipped_executors.test_the_events_in_the_readmes_can_be_scheduled,
    ("docs/shipped-executors.md", "python"): test_shipped_executors.test_the_program_on_the_page_runs,
    ("docs/shipped-executors.md", "yaml"): test_shipped_executors.test_the_settings_on_the_pages_are_settings,
    ("docs/testing.md", "python"): test_tutorial,
    ("docs/testing.md", "text"): test_tutorial,
}
"""What is not there is no snippet: a drawing, a table of headers."""
NOT_TO_RUN = {("docs/status.md", "mermaid")}


def test_every_snippet_has_a_test_that_runs_it():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {
        (str(page.relative_to(ROOT)), language)
        for page in pages
        for language in FENCE.findall(page.read_text(encoding="utf-8"))
    }
    assert found == RUN.keys() | NOT_TO_RUN


def test_every_curl_line_of_the_page_about_rest_is_run():
    """They are indented there, not fenced."""
    assert len(test_rest.CURL.findall(test_rest.PAGE)) == test_rest.PAGE.count("    curl ") > 0
    assert session.README.read_text(encoding="utf-8").count("```console") == 1
