"""A model that keeps the requests that another one was sent."""


class RecordingModel:
    """Passes everything on; `requests` are those so far."""

    def __init__(self, model):
        self.model = model
        self.requests = []

    def __getattr__(self, name):
        return getattr(self.model, name)

    def reply(self, request, on_text):
        self.requests.append(request)
        return self.model.reply(request, on_text)
