"""`python -m lightsched_http --config http.yml`."""

from lightsched_http.executor import program

if __name__ == "__main__":
    program.main()
