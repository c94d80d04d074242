from hypothesis import HealthCheck, settings

# A loaded machine is no bug: how long an example takes says nothing here.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
