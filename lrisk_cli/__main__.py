"""`lrisk`, and `python -m lrisk_cli`."""

import signal


def main() -> None:
    """Load the command line and run it; an interruption while it loads ends the program silently.

    Where the caller has interruptions ignored, they stay ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lrisk_cli import cli

    cli.main()


if __name__ == "__main__":
    main()
