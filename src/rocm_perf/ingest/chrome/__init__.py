"""Chrome traces of any origin."""
