"""Where the current state is kept, durable, and what makes it forget.

sqlite    one file, embedded: the default
"""
