"""Whether NEW does what BASE does, and how long both take, judged from a process that imports neither.

`values`, `wire`, `arrays`, `made_inputs`, `workbench` and `runner_process` also run beside the judged code: they import
the standard library alone, and numpy or torch where that code uses them.
"""
