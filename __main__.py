"""Pulumi program of every stack: loads the settings, declares the platform, exports its outputs."""

import pulumi

from components.base import STACK_PLATFORM
from components.platform import Platform, PlatformArgs
from components.program import end_quietly_when_cancelled, from_config
from settings.load import SettingsError, warnings

end_quietly_when_cancelled()
try:
    settings, split = from_config()
except SettingsError as error:
    # Pulumi shows a RunError without a traceback.
    raise pulumi.RunError(str(error)) from None

for warning in warnings(settings):
    pulumi.log.warn(warning)

platform = Platform(STACK_PLATFORM, PlatformArgs(settings, split, pulumi.get_stack()))
for name, value in platform.outputs.items():
    pulumi.export(name, value)
