"""Ask one more expert, or stop? One policy per file, all behind the protocol in `policy.py`."""
