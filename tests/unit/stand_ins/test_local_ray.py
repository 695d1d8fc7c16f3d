"""The log of a job in the folder of a Ray."""

from pathlib import Path

from sandbox.stand_ins.local_ray import driver_log


def test_a_drivers_log_is_read_while_the_link_to_the_session_is_replaced(tmp_path: Path) -> None:
    logs = tmp_path / "session_2030-01-01_00-00-00_000000_1" / "logs"
    logs.mkdir(parents=True)
    assert driver_log(tmp_path, "j-1") == b""
    (logs / "job-driver-j-1.log").write_bytes(b"printed")
    assert driver_log(tmp_path, "j-1") == b"printed"
    (tmp_path / "session_latest").symlink_to(logs.parent)
    assert driver_log(tmp_path, "j-1") == b"printed"
