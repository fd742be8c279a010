"""Settings of one process: environment (`GPUWARD_…`), then one TOML file, then `run.json` of an embedded stack, then defaults.

There is no global settings object: a process reads its settings once and hands them on.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from gpuward.contracts.errors import Permanent

CONFIG_ENV = "GPUWARD_CONFIG"
WORLD_FILE = "world.url"
"""File in the data directory with the base URL of the simulated world."""


class KafkaSettings(BaseSettings):
    """How to reach Kafka. Secrets come from files."""

    model_config = SettingsConfigDict(env_prefix="GPUWARD_KAFKA_", extra="ignore")

    bootstrap: str = "127.0.0.1:9092"
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    replication_factor: int = 1
    """Replicas of the topics that `gpuward topics apply` creates."""
    session_timeout_ms: int = 10_000
    request_timeout_ms: int = 15_000

    @property
    def sasl_password(self) -> SecretStr | None:
        """Read from its file at the moment it is needed; raises OSError when the file cannot be read."""
        return SecretStr(self.sasl_password_file.read_text().strip()) if self.sasl_password_file else None


class TemporalSettings(BaseSettings):
    """How to reach Temporal, a local server or Temporal Cloud (TLS with a client certificate or an API key file)."""

    model_config = SettingsConfigDict(env_prefix="GPUWARD_TEMPORAL_", extra="ignore")

    address: str = "127.0.0.1:7233"
    namespace: str = "default"
    tls: bool = False
    certificate_file: Path | None = None
    key_file: Path | None = None
    api_key_file: Path | None = None
    ui: str | None = None


class SimulationSettings(BaseSettings):
    """The simulated world: how many racks, nodes in each, GPUs in each node, and how much faster than life it runs."""

    model_config = SettingsConfigDict(env_prefix="GPUWARD_SIMULATION_", extra="ignore")

    racks: int = 2
    nodes: int = 4
    gpus: int = 8
    time_scale: float = 60.0
    """Seconds of the world for each second of ours: a reboot of 20 minutes takes 20 seconds at 60."""
    seed: int = 1
    port: int = 0


class Settings(BaseSettings):
    """What every process is told. Documented in `docs/settings.md`; the defaults are frozen by a test."""

    model_config = SettingsConfigDict(env_prefix="GPUWARD_", extra="ignore", env_nested_delimiter="__")

    data: Path = Field(default_factory=lambda: Path.home() / ".local" / "share" / "gpuward")
    """Directory of the embedded stack, of stream state and of the embedded records."""
    host: str = Field(default_factory=socket.gethostname)
    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    temporal: TemporalSettings = Field(default_factory=TemporalSettings)
    records_url: str | None = None
    """SQLAlchemy URL of the records; None: SQLite in the data directory."""
    policy_file: Path | None = None
    """The policy file; None: the default policy that is shipped."""
    world: str | None = None
    """Base URL of the simulated world, where there is one."""
    simulation: SimulationSettings = Field(default_factory=SimulationSettings)
    health_port: int = 0
    """Port of `/healthz`, `/readyz` and `/metrics` on `health_host`; 0: a free one, told in the log."""
    health_host: str = "127.0.0.1"
    log_level: str = "info"
    log_format: Literal["json", "console"] = "json"
    shutdown_grace_s: float = 10.0

    streams_partitions_overlap_records: int = 2000
    """On assignment each partition is rewound by the larger of this many records and `streams_overlap_s`."""
    streams_overlap_s: float = 120.0
    streams_silent_after_s: float = 60.0
    """No batch for this long (event time of its partition): the node is silent."""
    agent_tick_s: float = 10.0
    bridge_signal_limit: int = 2000
    """Unhandled signals of one run beyond which an entity's records are parked."""
    bridge_bytes_limit: int = 5_000_000
    bridge_concurrency: int = 64
    act_begin_concurrency: int = 8
    act_poll_s: float = 1.0
    """How often the effect of an act is looked for."""
    workflow_cache: int = 2000

    @property
    def records(self) -> str:
        return self.records_url or f"sqlite:///{self.data / 'records.sqlite'}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        toml = TomlConfigSettingsSource(settings_cls, Path(os.environ.get(CONFIG_ENV, "gpuward.toml")))
        return init_settings, env_settings, toml


def load(data: Path | None = None, **explicit: Any) -> Settings:
    """Settings of this process. With `data`, the addresses in its `run.json` fill what nobody set.

    Raises Permanent with a sentence when the file named by `GPUWARD_CONFIG` is missing or a value is wrong.
    """
    named = os.environ.get(CONFIG_ENV)
    if named and not Path(named).is_file():
        raise Permanent(f"{CONFIG_ENV} names {named}, which is not a file: write it, or unset the variable.")
    if data is not None:
        explicit["data"] = data
    try:
        settings = Settings(**explicit)
    except ValueError as error:
        raise Permanent(f"The settings are wrong: {error}") from error
    return _with_run_file(_with_environment(settings, explicit))


def _with_environment(settings: Settings, explicit: dict[str, Any]) -> Settings:
    """A table of the file is read whole, and would hide the environment's variables for its own fields."""
    updates: dict[str, Any] = {}
    for name, model in {"kafka": KafkaSettings, "temporal": TemporalSettings, "simulation": SimulationSettings}.items():
        if name not in explicit:
            said = model()
            updates[name] = getattr(settings, name).model_copy(
                update={field: getattr(said, field) for field in said.model_fields_set}
            )
    return settings.model_copy(update=updates)


def _with_run_file(settings: Settings) -> Settings:
    updates: dict[str, Any] = {}
    url = settings.data / WORLD_FILE
    if settings.world is None and url.is_file():
        updates["world"] = url.read_text().strip() or None
    path = settings.data / "run.json"
    run: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    kafka, temporal = settings.kafka, settings.temporal
    if run.get("kafka") and "bootstrap" not in kafka.model_fields_set:
        updates["kafka"] = kafka.model_copy(update={"bootstrap": run["kafka"]})
    if run.get("temporal") and "address" not in temporal.model_fields_set:
        found = {"address": run["temporal"], "ui": run.get("temporal_ui") or temporal.ui}
        updates["temporal"] = temporal.model_copy(update=found)
    return settings.model_copy(update=updates)
