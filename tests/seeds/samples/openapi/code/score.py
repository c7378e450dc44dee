def init():
    pass


def run(raw_data):
    return raw_data
