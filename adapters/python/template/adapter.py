def reset():
    raise NotImplementedError("not connected yet: empty the service here")


def step(operation):
    # Set the clock to operation["at"], send operation["value"] under operation["key"], count the
    # writes. Then return {"status": 201, "receipt": 1, "committedWrites": 1}
    raise NotImplementedError("not connected yet: send a request here")
