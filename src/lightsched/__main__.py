"""`python -m lightsched` is the command `lightsched`."""

from lightsched.cli import main

if __name__ == "__main__":
    main()
