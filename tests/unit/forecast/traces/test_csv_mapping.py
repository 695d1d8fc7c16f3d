"""Mappings of CSV columns, from a command line or a YAML file."""

import pytest

from muster.forecast.traces.csv_mapping import PRESETS, Column, CsvMapping, checked, from_text, from_yaml
from muster.forecast.traces.trace import TraceError

YAML = """
columns: {submit: created:ms, run: seconds, gpus: num_gpu, google.com/tpu: chips}
skipStates: [Waiting]
totals: true
"""


def test_mapping_of_a_file_has_columns_units_and_states() -> None:
    mapping = from_yaml(YAML, "mapping.yaml")
    assert mapping.fields() == {"submit": Column("created", "ms"), "run": Column("seconds")}
    assert mapping.resources() == {"nvidia.com/gpu": Column("num_gpu"), "google.com/tpu": Column("chips")}
    assert (mapping.skip_states, mapping.totals) == (("Waiting",), True)


def test_mapping_of_a_command_line_may_have_spaces() -> None:
    assert from_text(" submit = created , cpu = cores, ") == from_text("submit=created,cpu=cores")


BAD_TEXTS = {
    "no column": ("submit", "mapping 'submit': expected field=column"),
    "nothing at all": ("", "the mapping has no `submit`: add submit=COLUMN"),
    "no submit time": ("gpus=g", "the mapping has no `submit`: add submit=COLUMN"),
    "no requests": ("submit=t", "the mapping has no requests: add gpus=COLUMN"),
    "an unknown field": ("submit=t,gpu_count=g", "unknown field 'gpu_count': expected one of name, submit,"),
    "a share of no GPUs": ("submit=t,cpu=c,gpuShare=s", "`gpuShare` without `gpus`"),
    "totals is no truth value": ("submit=t,gpus=g,totals=yes", "totals=yes: expected true or false"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_mapping_of_a_command_line_is_refused(name: str) -> None:
    text, expected = BAD_TEXTS[name]
    with pytest.raises(TraceError, match=expected):
        from_text(text)


BAD_FILES = {
    "no YAML": ("columns: {", "mapping.yaml: "),
    "no columns": ("totals: true", "mapping.yaml: Object missing required field `columns`"),
    "an unknown key": ("columns: {submit: t, gpus: g}\nheaders: []", "unknown field `headers`"),
    "a list": ("[]", "Expected `object`, got `array`"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_mapping_of_a_file_is_refused(name: str) -> None:
    text, expected = BAD_FILES[name]
    with pytest.raises(TraceError, match=expected):
        from_yaml(text, "mapping.yaml")


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_a_whole_mapping(name: str) -> None:
    mapping = PRESETS[name]
    assert checked(mapping) is mapping
    columns = {column.name for column in (*mapping.fields().values(), *mapping.resources().values())}
    assert not mapping.header or {part for name in columns for part in name.split("/")} == set(mapping.header)


def test_unit_that_the_field_does_not_have_is_part_of_the_name() -> None:
    assert CsvMapping(columns={"submit": "t:Mi", "memory": "m:s"}).fields() == {"submit": Column("t:Mi")}
