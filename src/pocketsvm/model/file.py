"""TODO: model files."""
def write_model(model, path, extra): raise NotImplementedError
def read_model(path, *, max_bytes=2**31): raise NotImplementedError
