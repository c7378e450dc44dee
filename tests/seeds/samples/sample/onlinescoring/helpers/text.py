import os


def told(index, label):
    return f"{index} : {label}{os.environ['SUFFIX']}"
