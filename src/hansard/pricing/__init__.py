"""Dated prices: where they come from, which one applies to a message, and what its tokens cost, exactly.

`book` keeps the price data, `rates` resolves what applies when, `cost` multiplies and adds up,
and `settle` brings the money side of the index up to date. Nothing here goes to the network but `book.fetch`.
"""
