"""Read, run, complete and format context documents: the work behind `bylaw context`.

`documents` reads files, `conversation` decides messages without performing effects, `variables`
and `completing` list what a document declares, `formatting` writes its canonical form.
"""
