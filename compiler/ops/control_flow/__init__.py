"""If, Loop, Scan and SequenceMap."""
