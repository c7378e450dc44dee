"""The rooms behind the manager: what is known, what lies on disk, what is served."""
