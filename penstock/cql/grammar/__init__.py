"""CQL's grammar: from text to syntax trees that know their place in the text."""
