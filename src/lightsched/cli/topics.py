"""How are the topics made? `lightsched topics create`, for where the nodes themselves may not."""

from pathlib import Path
from typing import Annotated

import typer

from lightsched.cli.asking import AsJson
from lightsched.cli.printing import print_json
from lightsched.cli.serving import USUAL_FILE

app = typer.Typer(help="The topics on Kafka.", no_args_is_help=True)


@app.command()
def create(
    config: Annotated[
        Path | None, typer.Option(help="The settings.", show_default="lightsched.yml, if there is one here")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create the topics that are missing, and see that all are as they must be."""
    import asyncio  # noqa: PLC0415
    import logging  # noqa: PLC0415

    from lightsched.log.kafka.topics import create_all  # noqa: PLC0415 -- only who asks for it waits for the client
    from lightsched.node.settings import Settings  # noqa: PLC0415

    file = USUAL_FILE if config is None and USUAL_FILE.is_file() else config
    kafka = Settings.load(file).kafka
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it would say is in the error
    created = asyncio.run(
        create_all(kafka.connection("cli"), kafka.names(), kafka.partitions, kafka.replication, kafka.retention)
    )
    if as_json:
        print_json({"bootstrap": kafka.bootstrap, "created": created})
        return
    for name in created:
        typer.echo(f"created {name}")
    typer.echo(f"all topics are right on {kafka.bootstrap}")
