"""Stack files that cannot be read, as previews, deployments and the sandbox read them."""

from pathlib import Path

import pytest

from settings.load import SettingsError, load
from tests.unit.files.builders import BAD_INPUTS, bad_input


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_a_bad_stack_file_is_a_problem(name: str, tmp_path: Path) -> None:
    path = bad_input(name, tmp_path)
    with pytest.raises(SettingsError) as refused:
        load(Path(path))
    assert len(refused.value.problems) == 1
