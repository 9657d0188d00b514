"""The schedule language: its moves, their text form, and the replay of a text."""
