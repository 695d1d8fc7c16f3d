"""A self-contained HTML file that shows forecasts: usage, waits and every attempt of every job."""

from muster.forecast.page.page import write_page
from muster.forecast.page.side import ForecastSide

__all__ = ["ForecastSide", "write_page"]
