"""`python -m lightsched_files --config service.yml`."""

from lightsched_files.main import main

if __name__ == "__main__":
    main()
