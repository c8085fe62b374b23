// The report: everything that is text stands in the page; this adds what moves.

export {};
