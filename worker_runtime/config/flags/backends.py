"""Flags of backends, repository agents, the response cache and the rate limiter."""

from worker_runtime.config.flags.flag import Flag, Group, Kind

BACKEND = Group(
    "Backend",
    (
        Flag(
            "backend-directory",
            Kind.TEXT,
            "where backends made of shared Python code lie, as <backend>/model.py",
        ),
        Flag(
            "backend-config",
            Kind.TEXT,
            "a setting for one backend, or (without a name) for all; may be given several times",
            shape="[<backend>,]<setting>=<value>",
        ),
    ),
)
REPOSITORY_AGENT = Group(
    "Repository Agent",
    (Flag("repoagent-directory", Kind.TEXT, "agents are part of this server", effect=False),),
)
CACHE = Group(
    "Response Cache",
    (
        Flag(
            "cache-config",
            Kind.TEXT,
            "a setting of the response cache, as in local,size=1048576; may be given several times",
            shape="<cache>,<setting>=<value>",
        ),
        Flag("cache-directory", Kind.TEXT, "the cache is part of this server", effect=False),
    ),
)
RATE_LIMITER = Group(
    "Rate Limiter",
    (
        Flag(
            "rate-limit",
            Kind.TEXT,
            "off, or execution_count: instances run when their resources are free, by priority",
            "off",
        ),
        Flag(
            "rate-limit-resource",
            Kind.TEXT,
            "how many of a resource there are on a device, or on each; may be given several times",
            shape="<name>:<count>[:<device>]",
        ),
    ),
)
