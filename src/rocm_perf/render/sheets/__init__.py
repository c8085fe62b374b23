"""The tables of a report for spreadsheets, under the names that users of TraceLens know, with their units."""
