"""`python -m lightsched_command --config command.yml`."""

from lightsched_command.executor import program

if __name__ == "__main__":
    program.main()
