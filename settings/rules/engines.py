"""The section of a stack file that configures the engine."""

from settings.model.controller import Controller
from settings.model.operators.kueue import Kueue
from settings.model.stack import Settings


def engine_section(settings: Settings) -> tuple[str, Controller | Kueue] | None:
    """Returns the key and the section of Muster's controller or of Kueue, which have the same keys for what
    both engines can do; None with engine kai, and if the section is missing."""
    if settings.admission.engine == "kueue":
        return "muster:kueue", settings.kueue
    if settings.admission.engine == "muster" and settings.controller is not None:
        return "muster:controller", settings.controller
    return None
