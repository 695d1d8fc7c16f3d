"""A cluster whose nodes have racks."""

from muster.admission import HOSTNAME
from tests.simulation.api import Body

RACKS: Body = {
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]},
}
