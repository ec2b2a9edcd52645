"""Documents of the context language → what `bylaw context` says of them; nothing is performed.

`documents` reads files, `conversation` runs calls on the engine, `variables` and `completing` say
what a document has, `formatting` writes it in its canonical form.
"""
