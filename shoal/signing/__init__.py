"""Signatures of models, made and checked on this machine: secret keys leave it nowhere."""
