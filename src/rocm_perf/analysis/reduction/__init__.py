"""One document of many ranks that were analysed one by one: each contributes small tables, which can be added up in any
order, and the sums say what an analysis of all ranks at once would say."""
