# SPDX-License-Identifier: Apache-2.0
import os

from hypothesis import HealthCheck, settings

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
settings.register_profile("long", max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("WARPFOLD_HYPOTHESIS", "suite"))
