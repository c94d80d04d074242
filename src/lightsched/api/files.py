"""How many files may this process have open? As many as it is allowed to allow itself."""

_PLENTY = 65_536


def most_open_files() -> int:
    """Raise the limit that a process begins with to the one it may have, as far as that is of use."""
    try:
        import resource  # noqa: PLC0415 - not on every platform
    except ImportError:
        return _PLENTY
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = _PLENTY
    wanted = min(most, _PLENTY)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return _PLENTY if now == resource.RLIM_INFINITY else now
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    except (OSError, ValueError):
        return now
    return wanted
