"""The modules that `make preview` imports before it shows the plan."""

import subprocess
import sys


def test_pulumis_sdk_is_left_to_the_plugins() -> None:
    program = "import sys, preview.preview; print('pulumi' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "False"
