"""`python -m exonerate` is the command line."""

from exonerate.frontends.cli.main import main

if __name__ == "__main__":
    main()
