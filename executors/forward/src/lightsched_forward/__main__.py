"""`python -m lightsched_forward --config forward.yml`."""

from lightsched_forward.executor import program

if __name__ == "__main__":
    program.main()
