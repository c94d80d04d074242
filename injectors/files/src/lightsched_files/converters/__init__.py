"""Which formats become events? Those of the converters here; docs/converters.md says how to write another."""

from lightsched_files.converters.crontab import crontab, system_crontab
from lightsched_files.converters.kubernetes import kubernetes_cronjob
from lightsched_files.converters.systemd import systemd_timer

__all__ = ["crontab", "kubernetes_cronjob", "system_crontab", "systemd_timer"]
