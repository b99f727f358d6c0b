"""The command ``privcurve``: one file a sub-command, over the library and the workflow.

Each sub-command is a module with ``HELP``, ``EXAMPLES``, ``add_arguments`` and ``run``, and is
named in `main.COMMANDS`.
"""
