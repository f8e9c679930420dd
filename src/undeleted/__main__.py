"""`python -m undeleted` is the same as `undeleted`."""

from undeleted.interfaces.cli import main

if __name__ == "__main__":
    main()
