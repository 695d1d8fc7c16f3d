"""The fields of Ray's custom resources, and what happens to each when the object is queued.

`schema.json` has the fields of the pinned KubeRay (`make fields` writes it), `fields.toml` the rules,
docs/ray-fields.md both for readers (`make docs`).
"""
