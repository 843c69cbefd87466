"""Collects the permissions that every command declares, as they are typed."""

from kafka_lagoon.cli.registry import COMMANDS
from kafka_lagoon.cli.required_permissions import requirements_of

REQUIRED_PERMISSIONS = {
    form: requirement
    for name, listed in COMMANDS.items()
    if listed.place
    for form, requirement in requirements_of(name).items()
}
