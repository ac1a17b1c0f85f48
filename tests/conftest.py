"""Settings of all tests, and the folder of real data."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run of all tests; fresh ones, and many more, for `make fuzz`. How long
# an example takes depends on what else the machine does, and is no property of the program.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=5000, deadline=None)
settings.load_profile("steady")
# A shell that runs tests in the background ignores interruptions, nohup ignores SIGHUP, and so
# would the programs that are started here and sent these signals.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    """The folder of real tables; tests that need it are skipped where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"REAL DATA ABSENT: {REAL_DATA.name} is not beside the project")
    return REAL_DATA
