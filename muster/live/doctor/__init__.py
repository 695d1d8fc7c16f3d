"""Problems of an installation and its objects, each with a remedy: pure functions of the listed objects."""
