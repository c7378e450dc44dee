"""``python -m worker_runtime.agent``: the node agent's former name, in units and join commands."""

import runpy

if __name__ == "__main__":
    # why by its name: the runtime imports nothing of the agent, and is installed without it, too
    runpy.run_module("node_agent", run_name="__main__", alter_sys=True)
