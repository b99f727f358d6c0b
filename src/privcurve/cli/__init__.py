"""The command ``privcurve``, with one file for each sub-command.

Each sub-command is a module with ``HELP``, ``EXAMPLES``, ``add_arguments`` and ``run``. Its name is
in `main.COMMANDS`.
"""
