"""Choose channels inside aeon and sktime. Each class imports its library when it is first used."""

from typing import TYPE_CHECKING

from tensift._utils.lazy import load_on_first_use

if TYPE_CHECKING:
    from tensift.series._aeon import ChannelSelector
    from tensift.series._sktime import SktimeChannelSelector

__all__ = ["ChannelSelector", "SktimeChannelSelector"]

_HOMES = {
    "ChannelSelector": "tensift.series._aeon",
    "SktimeChannelSelector": "tensift.series._sktime",
}
__getattr__, __dir__ = load_on_first_use(__name__, _HOMES)
