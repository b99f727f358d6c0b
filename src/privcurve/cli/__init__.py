"""The command ``privcurve``: one file a sub-command, over the library and the workflow.

Each sub-command is a module with a line ``HELP``, ``EXAMPLES``, ``add_arguments`` and ``run``,
and is named in `main.COMMANDS`. What it does is a function of its own too, for Python.
"""
