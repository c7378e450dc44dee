"""Flags of the model repository, of backends, caches and the rate limiter, and of memory."""

from worker_runtime.config.flags.flag import Flag, Group, Kind

MODEL_REPOSITORY = Group(
    "Model Repository",
    (
        Flag("model-store", Kind.TEXT, "the same as --model-repository"),
        Flag("model-repository", Kind.TEXT, "directory of models; may be given several times"),
        Flag("exit-on-error", Kind.BOOLEAN, "exit when a model cannot be loaded at start", "true"),
        Flag(
            "disable-auto-complete-config",
            Kind.SWITCH,
            "require complete config.pbtxt files: derive nothing from the models",
        ),
        Flag("strict-readiness", Kind.BOOLEAN, "ready only when every model is", "true"),
        Flag(
            "model-control-mode",
            Kind.TEXT,
            "none: load everything at start; poll: follow the repository's changes; explicit: load "
            "what --load-model names and what the API asks for",
            "none",
        ),
        Flag(
            "repository-poll-secs",
            Kind.INTEGER,
            "seconds between looks at the repository, with --model-control-mode=poll",
            "15",
        ),
        Flag(
            "load-model",
            Kind.TEXT,
            "with --model-control-mode=explicit: a model to load at start; * alone for all; "
            "may be given several times",
        ),
        Flag("model-config-name", Kind.TEXT, "prefer configs/<name>.pbtxt over config.pbtxt"),
        Flag("model-load-thread-count", Kind.INTEGER, "models loaded at the same time", "4"),
        Flag("model-load-retry-count", Kind.INTEGER, "further attempts to load a model", "0"),
        Flag(
            "unload-timeout-secs",
            Kind.INTEGER,
            "seconds for which a model that is unloaded may give no answer before it is given up "
            "and its processes are killed; 0 waits for ever, as Triton does",
            "60",
            low=0,
            ours=True,
        ),
        Flag(
            "max-queue-wait-ms",
            Kind.INTEGER,
            "milliseconds that a request may wait in a model's queue before it is rejected, "
            "whatever the model's own queue policy says beyond that; 0: the models alone say",
            "0",
            low=0,
            ours=True,
        ),
        Flag(
            "model-namespacing",
            Kind.BOOLEAN,
            "serve models of the same name from different repositories: ensembles call those of "
            "their own repository",
            "false",
        ),
        Flag(
            "allow-code",
            Kind.TEXT,
            "the kinds of code that models may bring, with commas between them: python, library, "
            "pickle, environment, packages, files, unknown; nothing behind the = allows none, and "
            "files that a model names must then lie in its folder. Without this flag everything is "
            "allowed, as in Triton; given several times, only what every one of them allows",
            shape="[<kind>,...]",
            ours=True,
        ),
        Flag(
            "enable-peer-access",
            Kind.BOOLEAN,
            "let GPUs reach one another's memory",
            "true",
            effect=False,
        ),
    ),
)
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
MEMORY = Group(
    "Memory/Device Management",
    (
        Flag(
            "pinned-memory-pool-byte-size",
            Kind.INTEGER,
            "bytes of pinned host memory, shown in the metrics; what is pinned here has no bound",
            "268435456",
            high=2**63 - 1,
            effect=False,
        ),
        Flag(
            "cuda-memory-pool-byte-size",
            Kind.TEXT,
            "bytes of a GPU's memory pool",
            shape="<GPU>:<bytes>",
            effect=False,
        ),
        Flag(
            "cuda-virtual-address-size",
            Kind.TEXT,
            "bytes of address space for growing states on a GPU",
            shape="<GPU>:<bytes>",
            effect=False,
        ),
        Flag(
            "min-supported-compute-capability",
            Kind.NUMBER,
            "the backends decide which GPUs they can use",
            effect=False,
        ),
        Flag(
            "buffer-manager-thread-count",
            Kind.INTEGER,
            "threads for copies: none are needed here",
            "0",
            effect=False,
        ),
        Flag(
            "host-policy",
            Kind.TEXT,
            "cores of a policy's instances: the system places all threads here",
            shape="<policy>,<setting>=<value>",
            effect=False,
        ),
        Flag(
            "model-load-gpu-limit",
            Kind.TEXT,
            "refuse a model after whose load more than this fraction of a GPU's memory is used",
            shape="<device>:<fraction>",
        ),
    ),
)
