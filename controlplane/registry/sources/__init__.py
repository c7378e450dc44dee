"""Where models are fetched from, when the server does it: each kind of source finds its files, and
``web`` alone calls anybody."""
