"""Loads the policy file: the default that is shipped, or the operator's own."""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from gpuward.contracts.errors import Permanent
from gpuward.contracts.policy import Policy


def load(path: Path | None = None) -> Policy:
    """The policy in `path`, or the shipped default; `version` is 12 hex digits over the file's bytes.

    Raises Permanent with a sentence when the file cannot be read or is not a policy.
    """
    try:
        text = path.read_bytes() if path else files("gpuward.runtime").joinpath("default_policy.yaml").read_bytes()
        document = yaml.safe_load(text) or {}
        policy = Policy.model_validate(document)
    except OSError as error:
        raise Permanent(f"The policy file {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise Permanent(f"The policy file {path} is not YAML: {error}") from error
    except ValidationError as error:
        raise Permanent(f"The policy file {path or '(default)'} is not a policy: {error}") from error
    return policy.model_copy(update={"version": blake2b(text, digest_size=6).hexdigest()})
