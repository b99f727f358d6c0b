"""The command ``privcurve``, with one file for each sub-command.

Each sub-command is a module with ``HELP``, ``EXAMPLES``, ``add_arguments`` and ``run``.
`main.COMMANDS` lists the names of these modules.
"""
