"""What can be wrong with a store?"""

from lightsched.errors import LightschedError


class StoreInUse(LightschedError):
    """The directory {path} is in use by another process (or was not closed in this one): stop that one first, or give
    another directory with --data.
    """


class StoreNotMade(LightschedError):
    """The directory {path} cannot be made ({why}): give another directory with --data, or the right to write there."""


class StoreTooNew(LightschedError):
    """The directory {path} was written by a newer lightsched ({found}, this one knows {known}): run that version, or
    start with an empty directory.
    """


class StoreClosed(LightschedError):
    """The store was closed meanwhile: its partition is on its way to another owner, try again in a moment."""


class StoreUnreadable(LightschedError):
    """The store cannot be read: {why}."""
