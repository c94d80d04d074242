"""`python -m lightsched_chain --config chain.yml`."""

from lightsched_chain.executor import program

if __name__ == "__main__":
    program.main()
