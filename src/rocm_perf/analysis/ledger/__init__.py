"""Where the judged time of each GPU went."""
