"""The error of a file that cannot be used."""


class FileError(ValueError):
    """A file that cannot be read or written: where, what is wrong, what is expected."""
