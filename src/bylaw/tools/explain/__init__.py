"""A record of a journal → why it was decided so: the work behind `bylaw explain`.

`values` are what is found, `witness` decides the event once more under the rules of then and
looks on, `circumstances` are limits, gates and reasons for not being asked, `telling` puts all of
it together.
"""
