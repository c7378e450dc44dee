"""The command line. Modules import click only; HTTP and terminal libraries are imported on use."""
