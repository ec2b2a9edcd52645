"""Explain the decision of a journal record: the work behind `bylaw explain`.

`values` holds the result types. `witness` decides the event again under the recorded rules and
records what their guards read. `circumstances` finds limits, gates and reasons why a rule was not
evaluated. `telling` builds the explanation from all of them.
"""
