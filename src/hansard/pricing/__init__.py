"""Dated prices: where they come from, which one applies to a message, and exactly what its tokens cost.

`book` holds the price data, `rates` resolves what applies when, `cost` multiplies and adds up,
and `settle` brings the costs in the index up to date. Only `book.fetch` uses the network.
"""
